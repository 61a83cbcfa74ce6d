"""Ships' sentences with the receiver's times wherever programs put them, and snapshots of GTFS-realtime."""

import gzip
import zipfile
from pathlib import Path

import pytest

from foreign_files import installed
from foreign_writers import NOON_S, SHIP, STATION, TWO_PARTS, feed, sentence, snapshots, tagged
from shoal.errors import InputError
from shoal.io import read
from shoal.io.formats.gtfs_realtime_files import TIME_OF_SNAPSHOT

ships = pytest.mark.skipif(not installed("pyais"), reason="pyais is not installed")
fleets = pytest.mark.skipif(
    not installed("google.transit.gtfs_realtime_pb2"), reason="gtfs-realtime-bindings is not installed"
)

LINES = {
    "a tag block": tagged(SHIP, NOON_S),
    "a tag block of milliseconds": tagged(SHIP, NOON_S * 1000),
    "a leading time": f"2024-05-01T12:00:00Z {sentence(SHIP)}",
    "a leading column": f"2024-05-01 12:00:00,{sentence(SHIP)}",
    "a quoted column with a header": f'time,sentence\n2024-05-01 12:00:00,"{sentence(SHIP)}"',
    "leading seconds": f"{NOON_S}\t{sentence(SHIP)}",
    "a time behind, as coast guards log": f"{sentence(SHIP)},b003669713,{NOON_S}",
}


@ships
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("name", ["a.nmea", "a.ais", "a.txt", "a.csv"])
def test_the_receivers_time_is_found_wherever_it_stands(kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(LINES[kind] + "\n", encoding="utf-8")
    got = read(tmp_path / name, snap=False)
    assert got.ids == ("368084090",)
    assert got.t.tolist() == [NOON_S]
    assert got.lat is not None
    assert got.lat.tolist() == pytest.approx([48.85], abs=1e-6)


def test_a_table_of_decoded_positions_is_a_table(tmp_path: Path) -> None:
    rows = f'mmsi,time,lat,lon,raw\n368084090,2024-05-01 12:00:00,48.85,2.35,"{sentence(SHIP)}"\n'
    (tmp_path / "a.csv").write_text(rows, encoding="utf-8")
    assert read(tmp_path / "a.csv").ids == ("368084090",)


@ships
def test_sentences_without_any_time_are_refused_with_their_number(tmp_path: Path) -> None:
    (tmp_path / "a.ais").write_text(f"{sentence(SHIP)}\n" * 3 + sentence(STATION), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"none of the 3 positions of a\.ais has a time; keep the receiver's"
    ):
        read(tmp_path / "a.ais")


@ships
def test_a_tag_block_with_a_wrong_checksum_tells_no_time(tmp_path: Path) -> None:
    wrong = tagged(SHIP, NOON_S).replace(f"c:{NOON_S}", f"c:{NOON_S + 1}")
    (tmp_path / "a.ais").write_text(f"{wrong}\n{tagged(SHIP, NOON_S)}\n", encoding="utf-8")
    assert dict(read(tmp_path / "a.ais").intake.dropped) == {"empty or unreadable time": 1}


@ships
def test_parts_of_a_message_come_in_order_and_none_is_made_of_two_messages(tmp_path: Path) -> None:
    first, second = TWO_PARTS
    lines = (tagged(second, NOON_S), tagged(first, NOON_S), tagged(first, NOON_S + 60), sentence(second))
    (tmp_path / "a.ais").write_text("\n".join(lines), encoding="utf-8")
    got = read(tmp_path / "a.ais", snap=False)
    assert got.t.tolist() == [NOON_S + 60]
    assert dict(got.intake.dropped) == {"AIS message without all of its sentences": 2}


@pytest.mark.parametrize(
    ("name", "lines", "first"),
    [
        ("a.nmea", ["$GPGSV,1", "$GPRMC,120000,A*00", "$GPRMC,120001,A*00"], 2),
        pytest.param("a.ais", [f"!{SHIP}*00"] * 2, 1, marks=ships),
        pytest.param("a.ais", [tagged(STATION, NOON_S), sentence(TWO_PARTS[0])] * 2, 2, marks=ships),
    ],
)
def test_the_first_broken_sentence_is_named(name: str, lines: list[str], first: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=rf"\(first in line {first} of {name}\)"):
        read(tmp_path / name)


@ships
def test_a_log_that_is_cut_in_its_packing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ais.gz").write_bytes(gzip.compress(tagged(SHIP, NOON_S).encode())[:-9])
    with pytest.raises(InputError, match="broke off while it was read"):
        read(tmp_path / "a.ais.gz")


@fleets
def test_snapshots_in_an_archive_are_one_movement(tmp_path: Path) -> None:
    folder = snapshots(tmp_path)
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    got = read(tmp_path / "day.zip", snap=False)
    assert got.ids == ("bus 1", "bus 2")
    assert got.t.tolist() == [NOON_S, NOON_S + 300, NOON_S]
    assert dict(got.intake.repaired) == {TIME_OF_SNAPSHOT: 1}
    assert got.intake.notes.count("trip updates and alerts tell no position, and were left out") == 1
    assert read(folder, person="trip").ids == ("trip 7 20240501",)


@fleets
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (feed(NOON_S, ("bus", NOON_S, 48.85, 2.35))[:-9], "is not a whole GTFS-realtime feed"),
        (b"id,t,lat,lon\n", "is not a whole GTFS-realtime feed"),
        (b"", "a.pb is empty"),
        (feed(NOON_S), "a.pb holds no rows"),
        (feed(0, ("bus", 0, 48.85, 2.35)), "1 empty or unreadable time"),
    ],
    ids=["cut", "text", "empty", "no vehicle", "no time"],
)
def test_a_feed_that_tells_no_positions_is_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(content)
    with pytest.raises(InputError) as refused:
        read(tmp_path / "a.pb")
    assert expected in str(refused.value)
