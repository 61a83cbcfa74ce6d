"""Release folders and inputs that nobody honest would make.

One clear line and exit code, never a figure or a wait without end.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.errors import InputError
from shoal.model.trace import Trace
from shoal.publishing import verifying
from shoal.synthetic import write_synthetic

KTE = {"type": "kte-anonymity", "k": 2, "tau_s": "long", "epsilon_s": 1800}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 12, 1, 3)
    return path


@pytest.fixture(scope="module")
def sound(city: Path) -> tuple[Path, Path]:
    from shoal.io import read
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.publish import publish
    from shoal.runtime.randomness import Randomness

    folder, linkage = city.with_name("release"), city.with_name("linkage.parquet")
    publish(read(city), Glove(k=2), folder, rng=Randomness.from_system(), linkage_file=linkage, tries=0)
    return folder, linkage


@pytest.mark.parametrize("blocks", [(), ("--blocks", 4)])
def test_people_all_over_the_earth_are_refused_in_words(
    blocks: tuple[object, ...], tmp_path: Path, shoal: Shoal
) -> None:
    """No plane holds the whole earth: around the point opposite its center there is nothing."""
    places = np.random.default_rng(0).uniform((-80, -180), (80, 180), (8, 6, 2)).tolist()
    rows = [
        f"p{who},{1_700_000_000 + 3600 * n},{lat},{lon}"
        for who, uids_linked in enumerate(places)
        for n, (lat, lon) in enumerate(uids_linked)
    ]
    (tmp_path / "world.csv").write_text("\n".join(["uid,t,lat,lon", *rows]) + "\n")
    outcome = shoal(
        "anonymize",
        "--k",
        2,
        tmp_path / "world.csv",
        "--time-unit",
        "s",
        "--output",
        tmp_path / "release",
        "--quiet",
        *blocks,
    )
    assert outcome.code == 2, outcome.err
    assert "publish each region on its own" in outcome.err
    assert not (tmp_path / "release").exists()


def damaged(sound: tuple[Path, Path], to: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    shutil.copytree(sound[0], to)
    manifest = json.loads((to / "manifest.json").read_text())
    change(manifest)
    (to / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return to


def with_first(folder: Path, column: str, value: float) -> None:
    """Give a box another bound, and the manifest the new hash."""
    table = pq.read_table(folder / "release.parquet")
    values = table[column].to_numpy().astype(np.float64)
    values[0] = value
    pq.write_table(
        table.set_column(table.column_names.index(column), column, pa.array(values)),
        folder / "release.parquet",
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["release_sha256"] = hashlib.sha256((folder / "release.parquet").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def test_a_release_of_no_moment_is_told_in_one_line(
    sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    """Its times may be of no year that has a date, and it may have no rows at all."""
    folder = damaged(sound, tmp_path / "r", lambda _: None)
    with_first(folder, "t_end", 6e12)
    outcome = shoal("inspect", folder)
    assert (outcome.code, "a time that no calendar knows" in outcome.err) == (2, True)
    pq.write_table(pq.read_table(folder / "release.parquet").slice(0, 0), folder / "release.parquet")
    outcome = shoal("inspect", folder)
    assert (outcome.code, "the release holds no rows" in outcome.err) == (2, True)


def test_a_release_does_not_steer_the_terminal(
    sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    folder = damaged(sound, tmp_path / "r", lambda m: m.update(unit_of_protection="\x1b]0;me\x07 each"))
    outcome = shoal("inspect", folder)
    assert (outcome.code, "protected:  ]0;me  each" in outcome.out) == (0, True)
    assert "\x1b" not in outcome.out


def test_a_further_table_that_would_fill_the_memory_is_not_read(
    city: Path, sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = damaged(sound, tmp_path / "r", lambda _: None)
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 20, np.int32)), pa.array(["x" * (1 << 14)]))
    pq.write_table(pa.table({"note": codes}), folder / "notes.parquet", store_schema=False)
    assert (folder / "notes.parquet").stat().st_size < 1 << 14
    monkeypatch.setattr(pq, "read_table", lambda *_, **__: pytest.fail("16 GiB"))
    outcome = shoal("verify", city, folder, "--linkage", sound[1], "--json")
    assert outcome.code == 1
    assert {one["kind"] for one in json.loads(outcome.out)["findings"]} == {"unexpected-file"}


def test_raw_data_that_a_killed_check_left_is_told_of(
    city: Path, sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = damaged(sound, tmp_path / "r", lambda _: None)
    words = ("verify", city, folder, "--linkage", sound[1], "--streamed")
    assert "rm -r" not in shoal(*words).err
    (tmp_path / "temporary").mkdir()
    for place in (tmp_path, tmp_path / "temporary"):
        remaining = place / ".r.check-ab12"
        remaining.mkdir()
        outcome = shoal(*words)
        assert (outcome.code, f"rm -r {remaining}" in outcome.err) == (0, True)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        read_only = SimpleNamespace(access=lambda *_: False, W_OK=os.W_OK)
        monkeypatch.setattr(verifying, "os", read_only)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"claim": {"type": "k-anonymity"}}, "claim cannot be read: 'k' is missing"),
        ({"claim": {"type": "k-anonymity", "k": "two"}}, "claim cannot be read: 'k' must be a whole number"),
        ({"claim": {"type": "k-anonymity", "k": 2.5}}, "claim cannot be read: 'k' must be a whole number"),
        ({"claim": {"type": "k-anonymity", "k": True}}, "claim cannot be read: 'k' must be a whole number"),
        (
            {"claim": {"type": "k-anonymity", "k": 2, "truthful": "no"}},
            "claim cannot be read: 'truthful' must be true or false",
        ),
        (
            {"claim": {"type": "k-anonymity", "k": 2, "l": 3}},
            "claim cannot be read: 'l' is not known to this version; known: k, ",
        ),
        ({"claim": KTE}, "claim cannot be read: 'tau_s' must be a number"),
        ({"reading": {"id": 5}}, "manifest.json cannot be read: reading: 'id' must be text or null"),
        (
            {"reading": {"not_after_s": "never"}},
            "manifest.json cannot be read: reading: 'not_after_s' must be a number or null",
        ),
        (
            {"reading": {"color": "red"}},
            "manifest.json cannot be read: reading: 'color' is not known to this version",
        ),
        ({"slot_s": 1e300}, "slot_s = 1e+300 is longer than a thousand years"),
        ({"cell_m": 1e300}, "cell_m = 1e+300 is wider than the earth"),
    ],
)
def test_a_manifest_of_other_types_is_told_in_one_line(
    entries: dict[str, Any], expected: str, city: Path, sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    folder = damaged(sound, tmp_path / "r", lambda manifest: manifest.update(entries))
    for words in (("verify",), ("verify", "--streamed"), ("measure",), ("attack",)):
        outcome = shoal(words[0], city, folder, "--linkage", sound[1], "--quiet", *words[1:])
        assert (outcome.code, outcome.out) == (2, "")
        assert expected in outcome.err
        assert "unexpected" not in outcome.err


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("t_start", float("nan"), "infinite or impossibly large"),
        ("x_min", -1e300, "infinite or impossibly large"),
        ("t_start", -1e12, "boxes far beyond all raw samples in time"),
        ("t_end", 1e12, "boxes far beyond all raw samples in time"),
        ("x_min", -1e12, "boxes far beyond all raw samples in space"),
        ("t_end", 0.0, "boxes without extent in time"),
    ],
)
def test_impossible_boxes_give_no_figures(
    column: str,
    value: float,
    expected: str,
    city: Path,
    sound: tuple[Path, Path],
    tmp_path: Path,
    shoal: Shoal,
) -> None:
    folder = damaged(sound, tmp_path / "r", lambda _: None)
    with_first(folder, column, value)
    for command in ("measure", "attack"):
        outcome = shoal(command, city, folder, "--linkage", sound[1], "--quiet")
        assert (outcome.code, outcome.out) == (2, "")
        assert expected in outcome.err
    assert shoal("verify", city, folder, "--linkage", sound[1], "--quiet").code == (
        2 if expected.startswith("infinite") else 1
    )


@pytest.mark.parametrize("values", [[[1]], [b"\xff"]])
def test_a_linkage_of_other_types_is_told(
    values: list[Any], city: Path, sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    pq.write_table(pa.table({"uid": values, "trajectory_id": ["a"]}), tmp_path / "l.parquet")
    outcome = shoal("verify", city, sound[0], "--linkage", tmp_path / "l.parquet", "--quiet")
    assert outcome.code == 2
    assert "l.parquet is not a linkage table: its columns hold no text" in outcome.err


@pytest.mark.parametrize("rows", [[None], [-7]])
def test_origins_without_rows_are_told(rows: list[Any]) -> None:
    table = pa.table(
        {"time_from": [0], "place_from": [0], "swap_set": [0], "set_rows": rows, "place_of": ["a"]}
    )
    with pytest.raises(InputError, match="cannot be read as the origins of swapped points"):
        Trace.of_table(table, "origin.parquet")


def test_a_folder_cannot_steer_the_terminal(
    city: Path, sound: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    folder = damaged(
        sound,
        tmp_path / "r",
        lambda manifest: manifest.update(unit_of_protection="\x1b[2Jcars\nand\r\u202egone"),
    )
    outcome = shoal("measure", city, folder, "--linkage", sound[1], "--quiet")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert not set("\x1b\r\u202e") & set(outcome.err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--linkage", "{tmp}/l", "--private-report", "{tmp}/l"), "is named for two different files"),
        (
            ("--linkage", "l.parquet", "--output", "l-origin.parquet", "--method", "swap-locations"),
            "would lie inside the release folder",
        ),
        (("--output", ""), "is no name for a new folder; give one with --output"),
        (("--output", "/"), "is no name for a new folder; give one with --output"),
        (("--output", "{tmp}/" + 300 * "x"), "File name too long"),
        (("--space-cap", "1e-300m"), "beyond anything that movement data tells"),
        (("--method", "kte-hide", "--space-weight", "1e300h"), "beyond anything that movement data tells"),
        (("--method", "static", "--grid", "1e300km"), "beyond anything that movement data tells"),
        (("--time-unit", "1e30s"), "beyond anything that movement data tells"),
        (("--time-unit", "1e-30s"), "beyond anything that movement data tells"),
    ],
)
def test_outputs_and_quantities_that_cannot_be_meant(
    words: tuple[str, ...],
    expected: str,
    city: Path,
    tmp_path: Path,
    shoal: Shoal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    output = () if "--output" in words else ("--output", "r")
    outcome = shoal("anonymize", city, "--quiet", *output, *(word.format(tmp=tmp_path) for word in words))
    assert (outcome.code, outcome.out) == (2, "")
    assert expected in outcome.err
    assert "unexpected" not in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_is_not_the_current_folder(
    city: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(city.parent)
    outcome = shoal("inspect", "")
    assert outcome.code == 2
    assert "the name of the input is empty; name a file, a folder or a pattern" in outcome.err


def test_data_from_everywhere_on_earth_is_bad_input_not_a_broken_promise(
    tmp_path: Path, shoal: Shoal
) -> None:
    rows = "".join(
        f"u{i % 6},{1714564800 + 60 * i},{-85 + 17 * (i % 11)},{-180 + 33 * (i % 11)}\n" for i in range(30)
    )
    (tmp_path / "world.csv").write_text("id,t,lat,lon\n" + rows)
    outcome = shoal(
        "anonymize", tmp_path / "world.csv", "--output", tmp_path / "r", "--risk-tries", "0", "--quiet"
    )
    assert outcome.code == 2
    assert "the data spans too much of the earth for one plane" in outcome.err
    assert "publish each region on its own" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["world.csv"]
