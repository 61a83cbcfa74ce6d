"""Digits that no reader looks at, of numbers, outlines, bounds and the manifest: each could carry a message.

The same digits stand in all records of a class, so that nothing tells its members apart.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from folder_damages import edit_table
from naive_release import PLANE, naive_release, small_city
from shoal.model.release import BOX_COLUMNS, Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_files
from streamed_check import streamed_verdict
from written_folders import write_folder

Case = tuple[Trajectories, Path, Linkage]


@pytest.fixture(scope="module", params=[PLANE, None], ids=["plane", "local"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    original = small_city(crs=request.param)
    release, linkage = naive_release(original, n_boxes=3, rng=Randomness.for_research(3))
    verdict = verify(original, release, linkage)
    return original, write_folder(tmp_path_factory.mktemp("folder") / "release", release, verdict), linkage


@pytest.fixture
def case(sound: Case, tmp_path: Path) -> Case:
    original, folder, linkage = sound
    shutil.copytree(folder, tmp_path / "release")
    return original, tmp_path / "release", linkage


def verdicts(case: Case) -> list[Verdict]:
    original, folder, linkage = case
    return [verify_files(original, folder, linkage), streamed_verdict(original, folder, linkage)]


def with_numbers(name: str, change: Callable[[Any], Any]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        values = pa.array(change(table[name].to_numpy().copy()))
        return table.set_column(table.column_names.index(name), name, values)

    return edit


def with_outlines(
    change: Callable[[bytearray], None], only: int | None = None
) -> Callable[[pa.Table], pa.Table]:
    """Every outline changed, or that of one row and of all rows of the same box."""

    def edit(table: pa.Table) -> pa.Table:
        texts = [bytearray(text) for text in table["geometry"].to_pylist()]
        keys = list(zip(*(table[name].to_pylist() for name in BOX_COLUMNS), strict=True))
        for text, key in zip(texts, keys, strict=True):
            if only is None or key == keys[only]:
                change(text)
        moved = pa.array([bytes(text) for text in texts], pa.large_binary())
        return table.set_column(table.column_names.index("geometry"), "geometry", moved)

    return edit


def one_bit(number: int) -> Callable[[bytearray], None]:
    """The last bit of one of the ten numbers of an outline."""

    def change(text: bytearray) -> None:
        text[13 + 8 * number] ^= 1

    return change


def of_the_second_corner(text: bytearray) -> None:
    text[13 + 16] ^= 1


def test_a_sound_folder_holds_without_a_word_on_digits(case: Case) -> None:
    in_memory, streamed = verdicts(case)
    assert in_memory.holds, in_memory.findings
    assert streamed.holds, streamed.findings
    assert not any("last digits" in note for note in (*in_memory.notes, *streamed.notes))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.nextafter(x, np.inf),
        lambda x: x + 3 * np.spacing(x),
        lambda x: np.where(x == x[0], np.nextafter(x, -np.inf), x),
        lambda x: np.where(x == 0, -0.0, x),
    ],
    ids=["one up", "three up", "one place", "a zero's sign"],
)
def test_numbers_have_one_spelling(change: Callable[[Any], Any], case: Case) -> None:
    name = next(
        name
        for name in BOX_COLUMNS[2:]
        if (pq.read_table(case[1] / RELEASE_FILE)[name].to_numpy() == 0).any()
    )
    edit_table(case[1], with_numbers(name, change))
    assert "finer-than-claim" in verdicts(case)[0].kinds
    assert [verdict.kinds for verdict in verdicts(case)] == [{"finer-than-claim"}] * 2


def test_instants_of_nanoseconds_are_no_column_of_a_release(case: Case) -> None:
    """Seconds in 64 bits do not tell 100 ns apart."""

    def change(unit: str, ticks: int, more: int) -> Callable[[pa.Table], pa.Table]:
        def edit(table: pa.Table) -> pa.Table:
            instants = pa.array(table["t_start"].to_numpy() * ticks + more, pa.timestamp(unit, tz="UTC"))
            return table.set_column(1, "t_start", instants)

        return edit

    before = pq.read_table(case[1] / RELEASE_FILE)
    for unit, ticks, more, kinds in (
        ("us", 10**6, 0, set()),
        ("us", 10**6, 1, {"finer-than-claim"}),
        ("ns", 10**9, 0, {"unexpected-type"}),
        ("ns", 10**9, 77, {"unexpected-type"}),
    ):
        edited = change(unit, ticks, more)(before)
        edit_table(case[1], replaced_by(edited))
        assert [verdict.kinds for verdict in verdicts(case)] == [kinds] * 2


def replaced_by(table: pa.Table) -> Callable[[pa.Table], pa.Table]:
    return lambda _: table


def need_a_plane(case: Case) -> None:
    if case[0].crs is None:
        pytest.skip("local meters have no outlines")


def test_an_outline_ends_where_it_begins_to_the_last_bit(case: Case) -> None:
    need_a_plane(case)
    edit_table(case[1], with_outlines(one_bit(8)))
    assert [verdict.kinds for verdict in verdicts(case)] == [{"finer-than-claim"}] * 2


def test_other_last_digits_of_outlines_are_noted(case: Case) -> None:
    """Another version of the projection gives such, so they are no finding."""
    need_a_plane(case)
    table = pq.read_table(case[1] / RELEASE_FILE)
    inner = next(  # a place that no bound is made of
        row
        for row in range(len(table))
        if table["x_max"][row].as_py() != max(table["x_max"].to_pylist())
        and table["y_min"][row].as_py() != min(table["y_min"].to_pylist())
    )
    edit_table(case[1], with_outlines(of_the_second_corner, inner))
    for verdict in verdicts(case):
        assert verdict.holds, verdict.findings
        assert sum("outlines have other last digits" in note for note in verdict.notes) == 1
    edit_table(
        case[1], with_outlines(lambda text: text.__setitem__(13 + 16 + 4, text[13 + 16 + 4] ^ 1), inner)
    )
    assert [verdict.kinds for verdict in verdicts(case)] == [{"finer-than-claim"}] * 2


def with_bounds(change: Callable[[str], str]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        geo = table.schema.metadata[b"geo"].decode()
        assert change(geo) != geo
        return table.replace_schema_metadata({"geo": change(geo)})

    return edit


def longer(text: str) -> str:
    """Digits behind the last that counts: whole tracks have room there."""
    end = text.rindex("]")
    return text[:end] + "0" * 400 + "122419416" + text[end:]


@pytest.mark.parametrize(
    "change",
    [
        longer,
        lambda text: text.replace('"bbox": [', '"bbox": [ '),
        lambda text: text.replace('"bbox"', '"\\u0062box"'),
        lambda text: text.replace('"version": "1.1.0", "primary_column": "geometry"', '"primary_column": '
                                  '"geometry", "version": "1.1.0"'),
        lambda text: text.replace("]}}}", ", 37.774929]}}}"),
        lambda text: text.replace("]}}}", ', "x"]}}}'),
    ],
    ids=["digits", "blank", "escape", "order", "five numbers", "a text"],
)  # fmt: skip
def test_the_description_of_outlines_has_one_spelling(change: Callable[[str], str], case: Case) -> None:
    need_a_plane(case)
    edit_table(case[1], with_bounds(change))
    in_memory, streamed = verdicts(case)
    assert "hidden-bytes" in in_memory.kinds & streamed.kinds


def test_bounds_are_those_of_the_outlines_to_the_last_bit(case: Case) -> None:
    need_a_plane(case)

    def moved(text: str) -> str:
        about = json.loads(text)
        bounds = about["columns"]["geometry"]["bbox"]
        bounds[0] = float(np.nextafter(bounds[0], -np.inf))
        return json.dumps(about)

    edit_table(case[1], with_bounds(moved))
    assert [verdict.kinds for verdict in verdicts(case)] == [{"finer-than-claim"}] * 2


def test_no_outlines_no_description_of_them(case: Case) -> None:
    about = {"encoding": "WKB", "geometry_types": ["Polygon"], "bbox": [37.774929, -122.4, 38.0, -122.0]}
    geo = json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}})

    def edit(table: pa.Table) -> pa.Table:
        plain = table.drop_columns(["geometry"]) if "geometry" in table.column_names else table
        return plain.replace_schema_metadata({"geo": geo})

    edit_table(case[1], edit)
    assert [verdict.kinds for verdict in verdicts(case)] == [{"hidden-bytes"}] * 2


RESPELLED: dict[str, Callable[[str], str]] = {
    "blanks": lambda text: text + " ",
    "no line end": lambda text: text[:-1],
    "another indent": lambda text: json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n",
    "an escape": lambda text: text.replace('"k"', '"\\u006b"', 1),
    "a number": lambda text: text.replace('"cell_m": 100.0', '"cell_m": 1e2'),
    "a whole number": lambda text: text.replace('"cell_m": 100.0', '"cell_m": 100'),
    "order": lambda text: reordered(text, None),
    "order of the claim": lambda text: reordered(text, "claim"),
    "order of the reading": lambda text: reordered(text, "reading"),
    "order of the verdict": lambda text: reordered(text, "verdict"),
}


def reordered(text: str, section: str | None) -> str:
    manifest = json.loads(text)
    if section is None:
        manifest = dict(reversed(manifest.items()))
    else:
        manifest[section] = dict(reversed(manifest[section].items()))
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("how", RESPELLED)
def test_a_manifest_has_one_spelling(how: str, case: Case) -> None:
    path = case[1] / MANIFEST_FILE
    before = path.read_text()
    path.write_text(RESPELLED[how](before))
    assert path.read_text() != before
    assert [verdict.kinds for verdict in verdicts(case)] == [{"respelled"}] * 2
