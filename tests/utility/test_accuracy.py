"""Accuracy against plain loops over all samples and all boxes, and known answers."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import MisuseError
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility.accuracy import Extents, measure_accuracy
from small_releases import naive_release, random_people

pytestmark = pytest.mark.kernels

Pair = tuple[int, int]


@st.composite
def released(draw: st.DrawFn) -> tuple[Trajectories, Release, Linkage]:
    """A few people and records of arbitrary, overlapping boxes that need not fit them.

    Some people have no record.
    """
    numbers = st.integers(-3, 6)
    people = draw(
        st.lists(
            st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8), min_size=1, max_size=4
        )
    )
    rows = [(f"p{person}", *sample) for person, samples in enumerate(people) for sample in samples]
    original = Trajectories.from_rows(
        [row[0] for row in rows],
        *np.array([row[1:] for row in rows], dtype=np.int64).T,
        grid=Grid(
            cell_m=draw(st.sampled_from([100.0, 0.1, 250.0])), slot_s=draw(st.sampled_from([60.0, 0.1, 1.0]))
        ),
    )
    records = draw(st.integers(1, len(people)))
    sizes = st.integers(1, 6)
    box = st.tuples(numbers, sizes, numbers, sizes, numbers, sizes)
    contents = [draw(st.lists(box, max_size=6)) for _ in range(records)]
    sorted_boxes = [
        Boxes(
            **dict(
                zip(
                    ("t_start", "t_end", "x_min", "x_max", "y_min", "y_max"),
                    np.array(
                        [(t, t + dt, x, x + dx, y, y + dy) for t, dt, x, dx, y, dy in boxes], dtype=np.int64
                    )
                    .reshape(-1, 6)
                    .T,
                    strict=True,
                )
            )
        ).sorted()
        for boxes in contents
    ]
    names = Randomness.for_research(1).pseudonyms(records)
    order = draw(st.permutations(range(len(people))))
    release = Release(
        trajectory_ids=names,
        offsets=np.cumsum([0, *map(len, sorted_boxes)], dtype=np.int64),
        payload=Boxes.concatenate(sorted_boxes),
        claim=KAnonymity(k=2),
        method="naive",
        parameters={},
        losses=Losses(),
        grid=original.snapped_grid(),
        crs=None,
        unit_of_protection="each subject",
        publishable=False,
    )
    return original, release, Linkage(tuple(original.ids[i] for i in order[:records]), names)


def slow_raw_extents(original: Trajectories, release: Release, linkage: Linkage) -> list[Pair | None]:
    """(time, space) of the least box of the own record around each sample, over all pairs."""
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    extents: list[Pair | None] = []
    for uid, samples in zip(original.ids, original, strict=True):
        boxes = []
        if uid in record_of:
            record = release.record(release.trajectory_ids.index(record_of[uid]))
            boxes = list(zip(*(column.tolist() for column in record.columns()), strict=True))
        for t, x, y in zip(*(column.tolist() for column in samples), strict=True):
            around = [
                (t1 - t0, x1 - x0 + y1 - y0)
                for t0, t1, x0, y0, x1, y1 in boxes
                if t0 <= t and t + 1 <= t1 and x0 <= x and x + 1 <= x1 and y0 <= y and y + 1 <= y1
            ]
            extents.append(min(around) if around else None)
    return extents


@given(released())
def test_raw_reading_equals_loops_over_all_pairs(case: tuple[Trajectories, Release, Linkage]) -> None:
    slow = slow_raw_extents(*case)
    accuracy = measure_accuracy(*case)
    covered = sorted(pair for pair in slow if pair is not None)
    assert accuracy.samples_suppressed == slow.count(None)
    assert sorted(spelled_out(accuracy.raw)) == covered


@given(released(), st.integers(1, 12), st.integers(1, 7))
def test_shares_means_and_medians_equal_plain_ones(
    case: tuple[Trajectories, Release, Linkage], cells: int, slots: int
) -> None:
    original, release, _ = case
    grid = original.snapped_grid()
    published = [
        (int(t1 - t0), int(x1 - x0 + y1 - y0))
        for t0, t1, x0, y0, x1, y1 in zip(*release.boxes.columns(), strict=True)
    ]
    found = measure_accuracy(*case).published
    assert sorted(spelled_out(found)) == sorted(published)
    if not published:
        assert math.isnan(found.share_position_kept)
        assert math.isnan(found.mean_space_m)
        assert math.isnan(found.median_time_s)
        return
    n = len(published)
    assert found.share_within(space_m=cells * grid.cell_m) == sum(s <= cells for _, s in published) / n
    assert found.share_within(time_s=slots * grid.slot_s) == sum(t <= slots for t, _ in published) / n
    assert (
        found.share_within(space_m=cells * grid.cell_m, time_s=slots * grid.slot_s)
        == sum(t <= slots and s <= cells for t, s in published) / n
    )
    assert found.share_position_kept == sum(s == 2 for _, s in published) / n
    assert found.share_time_kept == sum(t == 1 for t, _ in published) / n
    assert found.mean_space_m == pytest.approx(sum(s for _, s in published) / n * grid.cell_m)
    assert found.mean_time_s == pytest.approx(sum(t for t, _ in published) / n * grid.slot_s)
    assert found.median_space_m == sorted(s for _, s in published)[(n - 1) // 2] * grid.cell_m
    assert found.median_time_s == sorted(t for t, _ in published)[(n - 1) // 2] * grid.slot_s


def test_an_untouched_sample_has_both_sides_of_its_cell_and_its_slot() -> None:
    original = Trajectories.from_rows(["a"], [5], [2], [3], grid=Grid(cell_m=100, slot_s=60))
    release = Release(
        trajectory_ids=("r",),
        offsets=np.array([0, 1]),
        payload=Boxes.of_samples(original.t, original.x, original.y),
        claim=KAnonymity(k=2),
        method="none",
        parameters={},
        losses=Losses(),
        grid=Grid(cell_m=100, slot_s=60),
        crs=None,
        unit_of_protection="each subject",
        publishable=False,
    )
    accuracy = measure_accuracy(original, release, Linkage(("a",), ("r",)))
    assert accuracy.samples_suppressed == 0
    for reading in (accuracy.raw, accuracy.published):
        assert (reading.mean_space_m, reading.mean_time_s) == (200.0, 60.0)
        assert (reading.share_position_kept, reading.share_time_kept) == (1.0, 1.0)
        assert reading.share_within(space_m=199) == 0.0


def test_what_is_suppressed_agrees_with_the_count_of_the_release() -> None:
    original = random_people(41, 12)
    release, linkage = naive_release(original, k=3, suppress=2)
    accuracy = measure_accuracy(original, release, linkage)
    assert accuracy.samples_suppressed == release.losses.samples_suppressed > 0
    assert accuracy.raw.n_samples == original.n_samples - accuracy.samples_suppressed
    assert accuracy.published.n_samples == release.n_samples


@pytest.mark.parametrize("change", [{"uids": ("nobody",)}, {"trajectory_ids": ("nothing",)}, {"twice": True}])
def test_a_linkage_that_does_not_fit_is_refused_without_names(change: dict[str, object]) -> None:
    original = random_people(10, 5)
    release, linkage = naive_release(original)
    uids, names = linkage.uids, linkage.trajectory_ids
    if "twice" in change:
        uids = (uids[1], *uids[1:])
    else:
        uids = ("nobody", *uids[1:]) if "uids" in change else uids
        names = ("nothing", *names[1:]) if "trajectory_ids" in change else names
    with pytest.raises(MisuseError, match="does not fit") as refusal:
        measure_accuracy(original, release, Linkage(uids, names))
    assert not any(name in str(refusal.value) for name in (*original.ids, *release.trajectory_ids))


def test_another_grid_is_refused() -> None:
    original = random_people(10, 5)
    release, linkage = naive_release(original)
    with pytest.raises(MisuseError, match="the original is on Grid"):
        measure_accuracy(original, replace(release, grid=Grid(cell_m=50)), linkage)


def spelled_out(extents: Extents) -> list[Pair]:
    """One (time, space) per sample."""
    columns = (extents.time_slots.tolist(), extents.space_cells.tolist(), extents.count.tolist())
    return [(t, s) for t, s, count in zip(*columns, strict=True) for _ in range(count)]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
    st.sampled_from([1, 3_000, 10_000, 10**9]),
)
def test_pairs_of_extents_are_counted_however_large_they_are(pairs: list[Pair], factor: int) -> None:
    """Two of these numbers make one of few bits, of 32 bits, of 64 bits, or none of these."""
    space, time = np.array([(s * factor, t * 10 * factor) for s, t in pairs], dtype=np.int64).reshape(-1, 2).T
    extents = Extents.of(space, time, Grid())
    found = zip(
        extents.space_cells.tolist(), extents.time_slots.tolist(), extents.count.tolist(), strict=True
    )
    counted = Counter((s * factor, t * 10 * factor) for s, t in pairs)
    assert list(found) == [(*pair, count) for pair, count in sorted(counted.items())]
