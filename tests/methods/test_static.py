"""Static generalization: a worked example, an obvious oracle, and what cannot work."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import shoal
from command_line import Shoal
from naive_release import boxes_from, hull, samples_of
from shoal.errors import MisuseError, NothingLeftError
from shoal.methods.static import StaticGeneralization
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from small_data import populations

pytestmark = pytest.mark.kernels


def worked_example() -> Trajectories:
    """On a grid of 1 km and 1 h, anna and bert agree on both of their cells.

    Carl misses one, dora has one more.
    """
    rows = [
        ("anna", 3, 1, 2), ("anna", 50, 9, 0), ("anna", 70, 12, 4),
        ("bert", 59, 4, 4), ("bert", 61, 19, 9),
        ("carl", 10, 5, 5),
        ("dora", 10, 5, 5), ("dora", 70, 12, 4), ("dora", 70, 9, 4),
    ]  # fmt: skip
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def test_the_worked_example() -> None:
    method = StaticGeneralization(k=2, grid_m=1000, slot_s=3600)
    original = worked_example()
    (crowd,) = method.classes(original, shoal.Run())
    assert crowd.members.tolist() == [0, 1]
    assert [column.tolist() for column in crowd.boxes.columns()] == [
        [3, 61],
        [60, 71],
        [1, 12],
        [0, 4],
        [10, 20],
        [5, 10],
    ]
    release, linkage = method.anonymize(original, shoal.Randomness.from_system())
    assert release.losses.subjects_suppressed == 2
    assert release.losses.samples_suppressed == 4
    assert shoal.verify(original, release, linkage).holds


@given(original=populations(least=2, most=8))
def test_crowds_are_those_with_equal_coarse_samples(original: Trajectories) -> None:
    method = StaticGeneralization(k=2, grid_m=7_000, slot_s=2 * 3600)
    coarse = [
        frozenset((t // 120, x // 70, y // 70) for t, x, y in samples_of(original, i))
        for i in range(original.n_subjects)
    ]
    alike = [[i for i, own in enumerate(coarse) if own == kind] for kind in dict.fromkeys(coarse)]
    wanted = {}
    for members in alike:
        if len(members) >= 2:
            samples = [sample for i in members for sample in samples_of(original, i)]
            place = [(t // 120, x // 70, y // 70) for t, x, y in samples]
            wanted[tuple(members)] = boxes_from(
                [
                    hull([s for s, of in zip(samples, place, strict=True) if of == cell])
                    for cell in sorted(set(place))
                ]
            ).sorted()
    found = {
        tuple(crowd.members.tolist()): crowd.boxes.sorted() for crowd in method.classes(original, shoal.Run())
    }
    assert found.keys() == wanted.keys()
    for who, boxes in found.items():
        assert all(np.array_equal(a, b) for a, b in zip(boxes.columns(), wanted[who].columns(), strict=True))


def test_what_cannot_work_is_said() -> None:
    original = worked_example()
    with pytest.raises(NothingLeftError, match="no 2 people share all their cells of 100 m and 1 min"):
        StaticGeneralization(k=2, grid_m=100, slot_s=60).anonymize(original, shoal.Randomness.from_system())
    with pytest.raises(
        MisuseError, match=r"grid = 250 m is not a multiple of the data's cell of 100 m; use 200 m or 300 m"
    ):
        StaticGeneralization(k=2, grid_m=250).classes(original, shoal.Run())
    with pytest.raises(
        MisuseError, match=r"slot = 30 s is not a multiple of the data's slot of 1 min; use 1 min"
    ):
        StaticGeneralization(k=2, slot_s=30).classes(original, shoal.Run())
    with pytest.raises(MisuseError, match="needs at least 5 people, and the data has 4"):
        StaticGeneralization(k=5).classes(original, shoal.Run())
    with pytest.raises(MisuseError, match="grid_m = 0 must be finite"):
        StaticGeneralization(grid_m=0)


@pytest.mark.jit_only
def test_on_the_command_line_slot_is_the_coarse_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixes = (("a", 60, 10), ("a", 4000, 990), ("b", 3000, 700), ("b", 7000, 100), ("c", 9, 9))
    rows = ["uid,t,x,y", *(f"{uid},{t},{x},{x}" for uid, t, x in fixes)]
    raw, folder = tmp_path / "five.csv", tmp_path / "r"
    raw.write_text("\n".join(rows))
    (tmp_path / "settings.toml").write_text('grid = "1km"\nslot = "1h"\nreading-slot = "5min"\n')
    call = Shoal(capsys)
    base = ("anonymize", raw, "--crs", "local", "--method", "static", "--k", "2")
    for words, slot_s in (
        (("--grid", "1km", "--slot", "1h"), 60.0),
        (("--grid", "1km", "--slot", "1h", "--reading-slot", "5min"), 300.0),
        (("--config", tmp_path / "settings.toml"), 300.0),
    ):
        folder = tmp_path / f"r{len(words)}"
        linkage = ("--linkage", tmp_path / f"links{len(words)}.parquet")
        outcome = call(*base, *words, "--output", folder, *linkage, "--json")
        assert outcome.code == 0, outcome.err
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest["slot_s"], manifest["parameters"]) == (
            slot_s,
            {"k": 2, "grid_m": 1000.0, "grid_offset_m": 0.0, "slot_s": 3600.0, "hull": "tight"},
        )
        assert manifest["losses"]["subjects_suppressed"] == 1
        assert call("verify", raw, folder, "--crs", "local", *linkage).code == 0
    assert len(list(tmp_path.glob("r*"))) == 3


@given(original=populations(least=2, most=8))
def test_an_offset_moves_the_cells_and_nothing_else(original: Trajectories) -> None:
    """Cells that begin 3 km farther are those of the data moved back by 3 km."""
    there = Trajectories.from_rows(
        np.repeat(np.array(original.ids), original.lengths).tolist(),
        original.t,
        original.x - 30,
        original.y - 30,
        grid=original.snapped_grid(),
    )
    moved = StaticGeneralization(k=2, grid_m=7_000, grid_offset_m=3_000).classes(original, shoal.Run())
    plain = StaticGeneralization(k=2, grid_m=7_000).classes(there, shoal.Run())
    assert [one.members.tolist() for one in moved] == [one.members.tolist() for one in plain]


def test_an_offset_is_a_multiple_of_the_cell() -> None:
    with pytest.raises(MisuseError, match="grid_offset = 150 m is no multiple"):
        StaticGeneralization(k=2, grid_offset_m=150).classes(worked_example(), shoal.Run())
