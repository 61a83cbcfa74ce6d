"""Boxes that reach beyond the hulls of their samples: drawn right, said by the claim, held to it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from measure_hulls import Case, case_of, guesses, homes, insiders, smallest
from naive_release import boxes_from, naive_release, small_city
from shoal.errors import InputError, MisuseError
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.hulls import round_outward
from shoal.model.claims import KAnonymity, KteAnonymity, claim_from_json, claim_to_json
from shoal.model.claims.hull import parse_hull
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Release
from shoal.runtime.randomness import Randomness
from small_data import populations

SPACE = ("x_min", "y_min", "x_max", "y_max")
KTE = shoal.KteHide(k=2, tau_s=4 * 3600, epsilon_s=4 * 3600)


def rounded(rows: Sequence[tuple[int, ...]], hull: str) -> Boxes:
    classes = [EquivalenceClass(members=np.arange(2), boxes=boxes_from(rows))]
    (one,) = round_outward(classes, hull, small_city(), Randomness.for_research(1))
    return one.boxes


def slack_by_hand(box: tuple[int, ...], samples: list[tuple[int, int, int]]) -> list[int]:
    """How far the sides of a box lie outside the cells of these samples: west, south, east, north."""
    _, x, y = zip(*samples, strict=True)
    return [min(x) - box[2], min(y) - box[3], box[4] - max(x) - 1, box[5] - max(y) - 1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (text, "write tight, outward:CELLS with 1 to 10000 cells")
        for text in ("", "loose", "outward", "outward:0")
    ]
    + [(f"outward:{cells}", "outward:CELLS with 1") for cells in ("-1", "1.5", "10001", "9" * 40, "٣", " 3")]
    + [("grid:", "grid:LENGTH"), ("grid:5", "is not a length"), ("grid:0m", "greater than 0")],
)
def test_a_hull_that_is_not_known_is_said(text: str, told: str) -> None:
    with pytest.raises(MisuseError, match=told):
        parse_hull(text)
    with pytest.raises(MisuseError, match=told):
        shoal.Glove(hull=text)
    with pytest.raises(InputError, match=told):
        claim_from_json({"type": "k-anonymity", "k": 2, "hull": text})


def test_sides_are_drawn_anew_for_each_box_and_side_and_never_in_time() -> None:
    rows = [(10 * i, 10 * i + 4, -3, 5, 2, 7) for i in range(4000)]
    tight, wide = boxes_from(rows), rounded(rows, "outward:3")
    assert np.array_equal(wide.t_start, tight.t_start)
    assert np.array_equal(wide.t_end, tight.t_end)
    signs = {"x_min": -1, "y_min": -1, "x_max": 1, "y_max": 1}
    out = np.stack([signs[name] * (getattr(wide, name) - getattr(tight, name)) for name in SPACE])
    counts = np.array([np.bincount(side, minlength=4) for side in out])
    assert counts.shape == (4, 4)
    # 1,000 expected of each of 16 counts; six standard deviations
    assert np.abs(counts - 1000).max() < 6 * np.sqrt(4000 * 0.25 * 0.75)
    assert np.abs(np.corrcoef(out) - np.eye(4)).max() < 6 / np.sqrt(4000)


@given(
    rows=st.lists(
        st.tuples(st.integers(-50, 50), st.integers(-50, 50), *[st.integers(1, 30)] * 2), min_size=1
    ),
    cells=st.integers(1, 12),
)
def test_a_grid_takes_the_nearest_lines_outside(rows: list[tuple[int, int, int, int]], cells: int) -> None:
    boxes = [(i, i + 1, x, y, x + dx, y + dy) for i, (x, y, dx, dy) in enumerate(rows)]
    found = rounded(list(boxes), f"grid:{100 * cells}m")
    for i, box in enumerate(boxes):
        for name, side in zip(SPACE, box[2:], strict=True):
            lines = range(-120, 121)
            kept = [
                line * cells
                for line in lines
                if (line * cells <= side if "min" in name else line * cells >= side)
            ]
            assert getattr(found, name)[i] == (max(kept) if "min" in name else min(kept))
    assert len(found) == len(boxes)


def test_a_grid_that_cells_cannot_keep_to_is_said() -> None:
    with pytest.raises(
        MisuseError, match="grid of the hull = 250 m is not a multiple of the data's cell of 100 m"
    ):
        shoal.Glove(k=2, hull="grid:250m").anonymize(small_city(), Randomness.from_system())


@pytest.mark.parametrize("hull", ["outward:4", "grid:500m"])
@pytest.mark.parametrize("method", [shoal.Glove(k=2), KTE], ids=["glove", "kte-hide"])
def test_the_hull_changes_nothing_but_the_sides(method: shoal.Method, hull: str) -> None:
    original = small_city()
    tight, _ = method.anonymize(original, Randomness.for_research(3))
    wide, linkage = replace(method, hull=hull).anonymize(original, Randomness.for_research(3))
    assert shoal.verify(original, wide, linkage).holds
    assert wide.claim == of_hull(tight, hull).claim
    assert claim_from_json(claim_to_json(wide.claim)) == wide.claim
    assert hull.split(":")[1].removesuffix("m") in wide.claim.promise
    times = [
        sorted(zip(each.boxes.t_start.tolist(), each.boxes.t_end.tolist(), strict=True))
        for each in (tight, wide)
    ]
    assert times[0] == times[1]
    assert wide.losses == tight.losses or wide.losses.samples_suppressed <= tight.losses.samples_suppressed


def of_hull(release: Release, hull: str) -> Release:
    """The release with a claim of another hull."""
    return replace(release, claim=claim_from_json({**claim_to_json(release.claim), "hull": hull}))


def stretched(release: Release, side: str, cells: int) -> Release:
    """Every box of the release with one side farther out."""
    moved = getattr(release.boxes, side) + (cells if side.endswith("max") else -cells)
    return replace(release, payload=replace(release.boxes, **{side: moved}))


@pytest.mark.parametrize("side", SPACE)
@pytest.mark.parametrize("linked", [True, False])
def test_the_verifier_allows_what_the_claim_says_and_no_cell_more(side: str, linked: bool) -> None:
    original = small_city()
    for method in (shoal.Glove(k=2), KTE):
        release, linkage = method.anonymize(original, Randomness.from_system())
        known = linkage if linked else None
        outward = of_hull(release, "outward:3")
        assert shoal.verify(original, stretched(outward, side, 3), known).kinds == set()
        assert shoal.verify(original, stretched(outward, side, 4), known).kinds == {"box-not-tight"}
        assert shoal.verify(original, stretched(release, side, 1), known).kinds == {"box-not-tight"}


@pytest.mark.parametrize("side", SPACE)
def test_the_verifier_insists_on_the_grid(side: str) -> None:
    original = small_city()
    for method in (shoal.Glove(k=2, hull="grid:500m"), replace(KTE, hull="grid:500m")):
        release, linkage = method.anonymize(original, Randomness.from_system())
        assert shoal.verify(original, release, linkage).holds
        for cells in (1, 5):
            assert shoal.verify(original, stretched(release, side, cells), linkage).kinds == {"box-not-tight"}
        odd = of_hull(release, "grid:550m")
        assert "box-not-tight" in shoal.verify(original, odd, linkage).kinds


@given(original=populations(least=4, most=6), cells=st.integers(1, 6), side=st.sampled_from(SPACE))
def test_the_verifier_agrees_with_a_slow_look(original: shoal.Trajectories, cells: int, side: str) -> None:
    release, linkage = naive_release(original, k=2, n_boxes=2)
    claim = KAnonymity(k=2, hull="outward:3")
    wide = replace(stretched(release, side, cells), claim=claim)
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    records = [
        list(zip(*(c.tolist() for c in wide.record(r).columns()), strict=True)) for r in range(wide.n_records)
    ]
    sound = True
    for record in records:
        members = [
            original.ids.index(uid_of[name])
            for name, other in zip(wide.trajectory_ids, records, strict=True)
            if other == record
        ]
        for box in record:
            inside = [
                (t, x, y)
                for member in members
                for t, x, y in zip(*(c.tolist() for c in original.samples_of(member)), strict=True)
                if box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]
            ]
            sound &= max(slack_by_hand(box, inside)) <= 3
    assert ("box-not-tight" not in shoal.verify(original, wide, linkage).kinds) == sound


def test_the_command_line_takes_a_hull(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    raw = tmp_path / "city.parquet"
    assert call("synthesize", raw, "--subjects", 30, "--days", 1, "--seed", 1, "--layout", "city").code == 0
    made = call(
        "anonymize",
        raw,
        "--k",
        3,
        "--hull",
        "grid:1km",
        "--output",
        tmp_path / "r",
        "--risk-tries",
        0,
        "--linkage",
        tmp_path / "l",
    )
    assert made.code == 0, made.err
    assert "boxes are rounded outward to a grid of 1 km" in made.out
    assert call("verify", raw, tmp_path / "r", "--linkage", tmp_path / "l").code == 0
    assert call("anonymize", raw, "--hull", "wide", "--output", tmp_path / "s").code == 2


def test_times_stay_tight_and_claims_of_two_hulls_differ() -> None:
    assert KteAnonymity(k=2, tau_s=60, epsilon_s=60).hull == "tight"
    original = small_city()
    release, linkage = shoal.Glove(k=2, hull="outward:3").anonymize(original, Randomness.from_system())
    later = replace(release, payload=replace(release.boxes, t_end=release.boxes.t_end + 1))
    assert "box-not-tight" in shoal.verify(original, later, linkage).kinds
    assert set(BOX_COLUMNS) - set(SPACE) == {"t_start", "t_end"}


def test_an_insider_of_two_and_a_reader_of_homes_win_less_by_larger_boxes() -> None:
    """The short run of what docs/glove.md shows."""
    original = shoal.read(shoal.synthesize(40, 3, 1, layout="city"))
    told = {}
    for hull in ("tight", "grid:1km"):
        release, linkage = shoal.Glove(k=2, hull=hull).anonymize(original, Randomness.for_research(1))
        case = case_of(original, release, linkage, hull)
        rng = np.random.default_rng(1)
        told[hull] = insiders(case) | homes(case, rng) | smallest(case, rng, 40)
    assert told["tight"]["exact"] > 0.5
    assert told["tight"]["far"] == 0
    assert told["grid:1km"]["exact"] < told["tight"]["exact"] / 5
    assert told["grid:1km"]["far"] >= 200
    assert told["tight"]["corners"] > told["grid:1km"]["corners"]
    assert all(told[hull]["points:4"] <= 0.5 for hull in told)


def test_an_insider_reads_off_the_other_sample_of_a_tight_box_alone() -> None:
    """By hand: own (5, 2, 2), the other (9, 7, 1); with a side that may lie farther out, only nearly."""
    box, mine = np.array([5, 10, 2, 1, 8, 3]), np.array([[5, 2, 2]])
    nobody = shoal.Trajectories.from_rows(["a"], [0], [0], [0], grid=Grid())
    sure = Case(nobody, [], np.array([-1]), 0, 0.0)
    assert guesses(sure, box, mine).tolist() == [9, 7, 1]
    unsure = Case(nobody, [], np.array([-1]), 4, 2.0)
    assert guesses(unsure, box, mine).tolist() == [9, 5, 1.5]
