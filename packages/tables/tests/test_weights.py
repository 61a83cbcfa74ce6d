"""Weights of zones: what a counted person stands for, applied after the noise, by a public file."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.errors import InputError
from shoal.runtime.files import sha256_of
from shoal_tables import grid_zones
from shoal_tables.definition.manifest import EXPORTED, Kind
from shoal_tables.making.folder import export_table
from shoal_tables.utility.measuring import measure_table
from shoal_tables.verification.checking import verify_table
from table_cases import AREA, city, make, rules_of, weighted


def numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].cast(pa.float64()).fill_null(np.nan).to_numpy())


@pytest.mark.parametrize("kind", ["flows", "presence", "dwell", "homes"])
def test_weights_multiply_estimates_and_intervals_and_nothing_else(tmp_path: Path, kind: Kind) -> None:
    (tmp_path / "plain").mkdir()
    plain = pq.read_table(make(tmp_path / "plain", rules_of(kind)).folder / "table.parquet")
    zones = weighted(tmp_path, 10_000)
    made = make(tmp_path, rules_of(kind, zones=zones))
    table = pq.read_table(made.folder / "table.parquet")
    assert table.select(plain.column_names[:-4]).equals(plain.select(plain.column_names[:-4]))
    weight_of = dict(zip(zones.names, zones.weights, strict=True))
    weights = np.array([weight_of[name] for name in plain[plain.column_names[0]].to_pylist()])
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(numbers(table, name), weights * numbers(plain, name))
    shown, before = numbers(table, "shown"), numbers(plain, "shown")
    assert np.array_equal(np.isnan(shown), np.isnan(before))
    certain = ~np.isnan(shown)
    assert np.array_equal(shown[certain], np.floor(weights * numbers(plain, "estimate") + 0.5)[certain])
    assert "(weights.csv)" in (made.folder / "report.html").read_text()
    assert made.manifest.zones.weights == "weights.csv"


def test_a_table_with_other_weights_than_its_zones_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, rules_of("homes", zones=weighted(tmp_path, 10_000))).folder
    stated, zones = (
        json.loads((folder / "manifest.json").read_text()),
        pq.read_table(folder / "zones.parquet"),
    )
    place = zones.column_names.index("weight")

    def found(table: pa.Table, **of_zones: str | None) -> set[str]:
        pq.write_table(table, folder / "zones.parquet", compression="zstd")
        files = {**stated["files"], "zones.parquet": sha256_of(folder / "zones.parquet")}
        changed = {**stated, "files": files, "zones": {**stated["zones"], **of_zones}}
        (folder / "manifest.json").write_text(json.dumps(changed))
        return set(verify_table(city(), folder).verdict.kinds)

    weights = zones["weight"].to_pylist()
    assert found(zones) == set()
    larger = zones.set_column(place, "weight", pa.array([2 * weight for weight in weights]))
    assert found(larger) == {"estimate-differs", "interval-differs", "shown-differs"}
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with_wrong = zones.set_column(place, "weight", pa.array([wrong, *weights[1:]]))
        assert "zones-differ" in found(with_wrong)
    assert "columns-differ" in found(zones, weights=None)
    assert "columns-differ" in found(zones.drop_columns(["weight"]))


@pytest.mark.parametrize("form", EXPORTED)
def test_a_weighted_table_is_verified_in_every_format(tmp_path: Path, form: str) -> None:
    pytest.importorskip("h5py")
    folder = make(tmp_path, rules_of("flows", zones=weighted(tmp_path, 10_000))).folder
    export_table(folder, tmp_path / "out", form)
    assert verify_table(city(), tmp_path / "out").verdict.holds


def test_a_weighted_table_is_measured_against_weighted_counts(tmp_path: Path) -> None:
    figures = []
    for name, weight in (("plain", None), ("double", 2)):
        (tmp_path / name).mkdir()
        zones = grid_zones(10_000, AREA)
        if weight is not None:
            file = tmp_path / "double.csv"
            file.write_text("\n".join(["zone,weight", *(f"{zone},{weight}" for zone in zones.names)]))
            zones = zones.weighted_by(file)
        folder = make(tmp_path / name, rules_of("presence", zones=zones)).folder
        figures.append({one.name: one.value for one in measure_table(city(), folder)})
    same = ("common-part", "rank-correlation", "total-error", "cut-by-bound", "covered", "shown")
    assert [figures[1][name] for name in same] == pytest.approx([figures[0][name] for name in same])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("weight", "factor", 1), "has no column 'weight'"),
        (lambda text: text.replace("zone", "zone,zone", 1).replace("\nr", "\nr,r"), "two columns 'zone'"),
        (lambda text: text.replace("r0c0,0.5", "r0c0,-0.5"), "row 1 of"),
        (lambda text: text.replace("r0c0,0.5", "r0c0,many"), "lacks a zone or a weight"),
        (lambda text: text.replace("r0c0,0.5", "r0c0,inf"), "lacks a zone or a weight"),
        (lambda text: text.replace("r0c0,0.5", "r0c0,"), "lacks a zone or a weight"),
        (lambda text: text + "\nr0c0,1", "names r0c0 twice"),
        (lambda text: text + "\nr9c9,1", "names r9c9, which is no zone"),
        (lambda text: text.replace("r0c0,0.5\n", ""), "lacks the zone r0c0"),
    ],
)
def test_a_file_of_weights_that_cannot_be_used_says_where(tmp_path: Path, change: object, why: str) -> None:
    weighted(tmp_path, 10_000)
    assert callable(change)
    file = tmp_path / "weights.csv"
    file.write_text(change(file.read_text()))
    with pytest.raises(InputError, match=why):
        grid_zones(10_000, AREA).weighted_by(file)


def test_the_command_takes_weights(shoal: Shoal, tmp_path: Path) -> None:
    pq.write_table(city(), tmp_path / "calls.parquet")
    weighted(tmp_path, 10_000)
    made = shoal(
        "tabulate", tmp_path / "calls.parquet", "--kind", "homes", "--grid", "10km",
        "--area=" + ",".join(map(str, AREA)), "--period", "2024-01-01,2024-01-03",
        "--weights", tmp_path / "weights.csv", "--epsilon", "1", "--research-seed", "1",
        "--output", tmp_path / "table", "--secret", tmp_path / "counts.parquet",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "note: stated errors and limits are from before the weights of weights.csv" in made.err
    assert pq.read_table(tmp_path / "table" / "zones.parquet")["weight"].to_pylist()[:2] == [0.5, 1.0]
    assert shoal("verify", tmp_path / "calls.parquet", tmp_path / "table").code == 0
    assert shoal("measure", tmp_path / "calls.parquet", tmp_path / "table").code == 0
