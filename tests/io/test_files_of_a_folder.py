"""What lies in a folder is read or refused, never passed over in silence; what is no text is named."""

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError
from shoal.io import read
from shoal.io.sources.named_files import files

HEADER = "uid,t,lat,lon\n"


def row(who: str) -> str:
    return f"{who},2024-05-01T10:00:00Z,48.85,2.35\n"


def test_files_behind_a_link_to_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.csv").write_text(HEADER + row("b"))
    calls = tmp_path / "calls"
    calls.mkdir()
    (calls / "a.csv").write_text(HEADER + row("a"))
    (calls / "day").symlink_to("../elsewhere")
    (calls / "self").symlink_to(calls)
    (calls / "day" / "up").symlink_to(tmp_path / "elsewhere")
    assert list(read(calls).ids) == ["a", "b"]


def test_files_that_are_left_out_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + row("a"))
    for name in ("~$a.xlsx", ".~lock.a.csv#", "a.dbf", "Thumbs.db", "README.md", "_delta.crc"):
        (tmp_path / name).write_bytes(b"\5")
    assert not any("reads" in note for note in read(tmp_path).intake.notes)
    (tmp_path / "_b.csv").write_text(HEADER + row("b"))
    left = "with _ before the name, or of no format that shoal reads"
    assert f"left out: 1 file {left} (.csv)" in read(tmp_path).intake.notes
    (tmp_path / "b.csv.bak").write_text(HEADER + row("b"))
    (tmp_path / "bob").write_text(HEADER + row("b"))
    got = read(tmp_path)
    assert got.ids == ("a",)
    assert f"left out: 3 files {left} (.bak, .csv, without an ending)" in got.intake.notes


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + row("a"))
    (tmp_path / "b.csv").symlink_to("gone.csv")
    (tmp_path / "notes").symlink_to("gone")  # which nobody would read
    with pytest.raises(InputError, match=r"b\.csv is a link to a file that is not there"):
        read(tmp_path)


def test_a_folder_that_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text(HEADER + row("a"))
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def refusing(place: str) -> object:
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(InputError, match="the folder closed cannot be opened: Permission denied"):
        list(files(tmp_path))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    for source in (tmp_path, tmp_path / "a.csv"):
        with pytest.raises(InputError, match=r"a\.csv is no file but a pipe"):
            read(source)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (gzip.compress((HEADER + row("a")).encode()), "holds gzip data"),
        (b"PAR1" + bytes(40), "holds Parquet data"),
        ((HEADER + row("a")).replace("\n", "\r").encode(), "old Macintoshes"),
        (b"\xef\xbb\xbf\n", "is empty"),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, held: bytes, told: str) -> None:
    (tmp_path / "a.csv").write_bytes(held)
    with pytest.raises(InputError, match=told):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(("by", "hour"), [("org.apache.spark.version", 12), ("other", 10)])
def test_times_of_spark_are_of_utc_whatever_the_zone(tmp_path: Path, by: str, hour: int) -> None:
    """Spark writes moments as INT96, which says no zone; another program may mean local times by it."""
    noon = pa.array([1_714_564_800_000_000_000], pa.timestamp("ns"))
    table = pa.table({"uid": ["a"], "t": noon, "lat": [48.85], "lon": [2.35]})
    path = tmp_path / "a.parquet"
    pq.write_table(table.replace_schema_metadata({by: "4.3.0"}), path, use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(path).schema.column(1).physical_type == "INT96"
    assert read(path, time_zone="Europe/Paris").t.tolist() == [1_714_521_600 // 60 + hour * 60]
