"""A public list of places from the command line: leaves in blocks, and what is refused."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from folder_damages import edit_manifest
from shoal.release_folder.folder import raw_reading


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw data of 40 people, and the stations that 120 people of the same city use."""
    place = tmp_path_factory.mktemp("places")
    city = shoal.synthesize(120, 1, 3, layout="city")
    some = pc.is_in(city["uid"], pc.unique(city["uid"])[:40])
    pq.write_table(city.filter(some), place / "raw.parquet")
    stations = city.group_by(["lat", "lon"]).aggregate([([], "count_all")])
    stations = stations.rename_columns(["lat", "lon", "busyness"])
    pa_csv.write_csv(stations, place / "list.csv")
    pa_csv.write_csv(stations.slice(5, 3).add_column(0, "kind", [["hospital"] * 3]), place / "sensitive.csv")
    sectors = pa.concat_tables([stations, stations.slice(3, 4)])
    names = [f"c{number}" for number in range(len(sectors))]
    pa_csv.write_csv(sectors.add_column(0, "cell", [names]), place / "cells.csv")
    where = zip(sectors["lat"].to_pylist(), sectors["lon"].to_pylist(), strict=True)
    cell_of = dict(zip(where, names, strict=True))
    people = city.filter(some)
    cells = [cell_of[row["lat"], row["lon"]] for row in people.select(["lat", "lon"]).to_pylist()]
    pq.write_table(people.select(["uid", "t"]).append_column("cell", [cells]), place / "named.parquet")
    return place


def test_leaves_in_blocks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a table of cells, which is the list too, with sectors of a site and sensitive places."""
    call, raw, cells = Shoal(capsys), folder / "named.parquet", folder / "cells.csv"
    places = ("--cells", cells, "--sensitive", folder / "sensitive.csv")
    files = (folder / "out", "--linkage", folder / "links")
    leaves, blocks = (
        ("--leaves", "4:80%", "--diverse-places", 2, *places),
        ("--blocks", 20, "--engine", "threads", "--risk-tries", 0),
    )
    made = call("anonymize", raw, "--k", 3, *leaves, *blocks, "--output", *files)
    assert made.code == 0, made.err
    assert "leaves of at least 4 places each" in made.out
    claim = "k-anonymity:3,hull=leaves:4:0.8,diverse-places=2"
    checked = call("verify", raw, *files, *places, "--streamed", "--claim", claim)
    assert checked.code == 0, checked.out + checked.err
    for lists, words in (((), "give it with --cells"), (places[:2], "give it with --sensitive")):
        unlisted = call("verify", raw, *files, *lists, "--streamed")
        assert (unlisted.code, words in unlisted.err) == (2, True)
    known = {"cells": str(cells), "sensitive": str(folder / "sensitive.csv")}
    digest = raw_reading(folder / "out", **known).places_sha256
    assert digest is not None
    assert digest in (folder / "out" / "report.html").read_text()
    edit_manifest(folder / "out", lambda manifest: manifest["reading"].update(places=None))
    assert raw_reading(folder / "out", places="of an attacker.csv", **known).places is None
    useless = call("verify", raw, *files, *places, "--places", cells)
    assert (useless.code, "made without a list of places" in useless.err) == (2, True)


@pytest.mark.parametrize(
    ("leaves", "columns", "hull"),
    [
        ("4", ["lat", "lon", "busyness"], "leaves:4:0.5"),
        ("4:1", ["lat", "lon", "busyness"], "leaves:4:1.0"),
        ("4:0.8", ["lat", "lon", "busyness"], "leaves:4:0.8"),
        ("2", ["lat", "lon", "busyness"], "leaves:2"),
        ("4", ["lat", "lon"], "leaves:4"),
    ],
)
def test_no_place_of_a_leaf_has_over_twice_its_even_share_unless_asked(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    leaves: str,
    columns: list[str],
    hull: str,
) -> None:
    pa_csv.write_csv(pa_csv.read_csv(folder / "list.csv").select(columns), tmp_path / "list.csv")
    files = ("--output", tmp_path / "out", "--linkage", tmp_path / "links")
    words = ("--places", tmp_path / "list.csv", "--leaves", leaves, "--risk-tries", 0)
    assert Shoal(capsys)("anonymize", folder / "raw.parquet", "--k", 2, *words, *files).code == 0
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["claim"]["hull"] == hull


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--leaves", 4), "give it with --places or --cells"),
        (("--diverse-places", 2), "read the data with --sensitive"),
        (("--diverse-places", 2, "--sensitive", "list.csv"), "add a column kind"),
        (("--leaves", 4, "--hull", "tight", "--places", "list.csv"), "leave one of them out"),
        (("--leaves", 4, "--places", "list.csv", "--method", "nwa"), "nwa knows no --leaves"),
        (("--leaves", 5000, "--places", "list.csv"), "leaves of 5000 places need as many"),
        (("--leaves", 0, "--places", "list.csv"), "write leaves:PLACES"),
        (("--hull", "leaves:4"), "read the data with --places FILE"),
        (("--places", "list.csv", "--method", "nwa"), "needs boxes on cells"),
        (("--leaves", 4, "--places", "nowhere.csv"), "no list of places nowhere.csv"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[object, ...],
    words: str,
) -> None:
    monkeypatch.chdir(folder)
    refused = Shoal(capsys)("anonymize", "raw.parquet", "--output", "none", "--linkage", "no.links", *options)
    assert (refused.code, words in refused.err) == (2, True), refused.err
    assert not (folder / "none").exists()
