"""Fig. 7 to 11 and Table 2 of Gramaglia and Fiore 2015.

The paper's errors are half extents: Table II of the kte paper prints twice the values of Table 2 in seven
of eight cells.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.glove import Glove, SuppressBy
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.report.facts.exposure import gyration_m
from shoal.runtime.randomness import Randomness
from shoal.synthetic.stations import Layout
from shoal.units import percent
from shoal.utility.accuracy import Accuracy, Extents, measure_accuracy
from shoal_papers.data import World, as_points, mean_move
from shoal_papers.experiment import Experiment, Measured

Printed = float | tuple[float, float]
_2_KM, _2_H, _HALF_H = 2_000.0, 7_200.0, 1_800.0
_BY: Final[tuple[SuppressBy, ...]] = ("samples", "boxes")
FRACTIONS: Final = (0.05, 0.25, 0.5, 1.0)
DAYS: Final = (1, 3, 7, 14)
_PLACES: Final[tuple[Layout, ...]] = ("civ", "sen", "abi", "dak")


def _released(world: World, original: Trajectories, method: Glove) -> tuple[Release, Linkage] | None:
    try:
        return method.anonymize(original, Randomness.for_research(world.seed), world.run)
    except NothingLeftError:
        return None


def published(world: World, layout: Layout, k: int) -> Accuracy | None:
    """GLOVE as published, without suppression."""

    def make() -> Accuracy | None:
        original = world.people(layout)
        released = _released(world, original, Glove(k=k, generalize="reshape-each"))
        return None if released is None else measure_accuracy(original, *released)

    return world.once(("glove", layout, k), make)


def _shares(row: str, of: str, extents: Extents) -> Iterator[Measured]:
    """By half extents, as the paper counts errors, and by whole extents."""
    yield Measured(row, f"{of}: kept place, %", 100 * extents.share_position_kept)
    yield Measured(row, f"{of}: half within 30 min, %", 100 * extents.share_within(time_s=2 * _HALF_H))
    yield Measured(row, f"{of}: half within 2 km, %", 100 * extents.share_within(space_m=2 * _2_KM))
    yield Measured(row, f"{of}: half within 2 h, %", 100 * extents.share_within(time_s=2 * _2_H))
    yield Measured(row, f"{of}: whole within 2 km, %", 100 * extents.share_within(space_m=_2_KM))
    yield Measured(row, f"{of}: whole within 2 h, %", 100 * extents.share_within(time_s=_2_H))


def _both(row: str, accuracy: Accuracy | None) -> Iterator[Measured]:
    if accuracy is not None:
        yield from _shares(row, "raw", accuracy.raw)
        yield from _shares(row, "published", accuracy.published)


def two_anonymous(world: World) -> Iterator[Measured]:
    """Fig. 7."""
    for layout in _PLACES[:2]:
        yield from _both(layout, published(world, layout, 2))


def by_k(world: World, ks: tuple[int, ...] = (2, 3, 5)) -> Iterator[Measured]:
    """Fig. 8."""
    for k in ks:
        yield from _both(f"k = {k}", published(world, "civ", k))


def with_k_merge(world: World) -> Iterator[Measured]:
    """Fig. 8 at k = 5 with shoal's defaults, and refined."""
    original = world.people("civ")
    for row, method in (
        ("k = 5, k-merge", Glove(k=5)),
        ("k = 5, k-merge, refined", Glove(k=5, refine=True)),
    ):
        released = _released(world, original, method)
        yield from _both(row, None if released is None else measure_accuracy(original, *released))


def _with_suppression(
    world: World, layout: Layout, k: int, space_m: float | None, time_s: float | None, by: SuppressBy
) -> Iterator[tuple[str, float]]:
    original = world.people(layout)
    method = Glove(
        k=k, generalize="reshape-each", suppress_space_m=space_m, suppress_time_s=time_s,
        suppress_by=by,
    )  # fmt: skip
    released = _released(world, original, method)
    if released is None:
        yield "deleted, %", 100.0
        return
    accuracy = measure_accuracy(original, *released)
    yield "deleted, %", 100 * accuracy.samples_suppressed / original.n_samples
    yield "people discarded, %", 100 * (1 - released[0].n_records / original.n_subjects)
    for of, extents in (("raw", accuracy.raw), ("published", accuracy.published)):
        yield f"{of}: mean half, km", extents.mean_space_m / 2000
        yield f"{of}: mean half, min", extents.mean_time_s / 120


_THRESHOLDS: Final = (
    ("none", None, None), ("6 h", None, 21_600.0), ("20 km and 6 h", 20_000.0, 21_600.0),
    ("15 km and 6 h", 15_000.0, 21_600.0),
)  # fmt: skip


def suppression(world: World) -> Iterator[Measured]:
    """Fig. 9: thresholds on boxes, and on samples."""
    for by in _BY:
        for name, space_m, time_s in _THRESHOLDS:
            if name == "none" and by == "samples":
                continue
            for column, value in _with_suppression(world, "civ", 2, space_m, time_s, by):
                yield Measured(f"{name}: {by}" if name != "none" else name, column, value)


def glove_of_table_two(world: World) -> Iterator[Measured]:
    """Table 2, GLOVE: 15 km and 6 h."""
    for layout in _PLACES:
        for k in (2, 5):
            for by in _BY:
                for column, value in _with_suppression(world, layout, k, 15_000.0, 21_600.0, by):
                    yield Measured(f"{layout}, k = {k}, by {by}", column, value)


def w4m_of_table_two(world: World, whole_area: bool = False) -> Iterator[Measured]:
    """Table 2, W4M-LC: delta 2 km, trash 10 %."""
    for layout in _PLACES:
        original = world.people(layout, whole_area=whole_area)
        points = as_points(original)
        for k in (2, 5):
            row = f"{layout}, k = {k}"
            try:
                method = W4m(k=k, delta_m=2_000.0, trash=0.1)
                released = method.anonymize(points, Randomness.for_research(world.seed), world.run)
            except NothingLeftError:
                continue
            release, m = released[0], original.n_samples
            deleted, moved = release.losses.samples_suppressed, mean_move(points, *released)
            yield Measured(row, "people discarded, %", 100 * (1 - release.n_records / original.n_subjects))
            yield Measured(row, "created, %", 100 * (release.n_samples - (m - deleted)) / m)
            yield Measured(row, "deleted, %", 100 * deleted / m)
            yield Measured(row, "mean position error, km", moved[0] / 1000)
            yield Measured(row, "mean time error, min", moved[1] / 60)


def by_days(world: World) -> Iterator[Measured]:
    """Fig. 10: shorter data are easier to hide."""
    for layout in _PLACES[:2]:
        for days in DAYS:
            if days > world.size.days:
                continue
            original = world.people(layout, days=days)
            released = _released(world, original, Glove(k=2, generalize="reshape-each"))
            yield from _means(f"{layout}, {days} {'day' if days == 1 else 'days'}", original, released)


def by_people(world: World) -> Iterator[Measured]:
    """Fig. 11: fewer people, drawn from the same, are harder to hide."""
    for layout in _PLACES[:2]:
        everybody = world.people(layout)
        for share in FRACTIONS:
            count = max(round(share * everybody.n_subjects), 2)
            chosen = np.sort(world.draw.choice(everybody.n_subjects, count, replace=False))
            original = everybody.keep(chosen)
            released = _released(world, original, Glove(k=2, generalize="reshape-each"))
            yield from _means(f"{layout}, {percent(share, 0)} of the people", original, released)


def radii(world: World) -> Iterator[Measured]:
    """Sec. 7.3: the radii of gyration that explain why a nation is hidden as a city is."""
    for layout in _PLACES[:2]:
        original = world.people(layout)
        radius_km = gyration_m(original) / 1000
        yield Measured(layout, "median, km", float(np.median(radius_km)))
        yield Measured(layout, "mean, km", float(radius_km.mean()))


def _means(row: str, original: Trajectories, released: tuple[Release, Linkage] | None) -> Iterator[Measured]:
    if released is None:
        return
    accuracy = measure_accuracy(original, *released)
    for of, extents in (("raw", accuracy.raw), ("published", accuracy.published)):
        yield Measured(f"{row}, {of}", "median half, km", extents.median_space_m / 2000)
        yield Measured(f"{row}, {of}", "mean half, km", extents.mean_space_m / 2000)
        yield Measured(f"{row}, {of}", "median half, min", extents.median_time_s / 120)
        yield Measured(f"{row}, {of}", "mean half, min", extents.mean_time_s / 120)


def _words(
    row: str, samples: Printed, half_h: Printed | None, km: Printed, hours: Printed
) -> dict[tuple[str, str], Printed]:
    columns = {
        "kept place": samples, "half within 30 min": half_h, "half within 2 km": km, "half within 2 h": hours,
    }  # fmt: skip
    return {
        (row, f"{of}: {name}, %"): value
        for of in ("raw", "published")
        for name, value in columns.items()
        if value is not None
    }


_TABLE_TWO: Final = {  # deleted %, position error m, time error min
    ("civ", 2): (8.3, 1_013.71, 60.21), ("sen", 2): (14.1, 1_312.28, 69.31),
    ("abi", 2): (4.03, 1_323.12, 57.21), ("dak", 2): (4.8, 1_249.24, 58.47),
    ("civ", 5): (8.3, 5_129.9, 171.01), ("sen", 5): (16.9, 5_694.2, 408.30),
    ("abi", 5): (4.41, 1_870.10, 146.90), ("dak", 5): (6.4, 1_596.77, 147.53),
}  # fmt: skip
_TABLE_TWO_W4M: Final = {  # discarded %, created %, deleted %, position error m, time error min
    ("civ", 2): (1.3, 24.9, 7.5, 10_190.88, 1_151.51), ("sen", 2): (0.1, 17.9, 5.3, 9_392.85, 1_037.74),
    ("abi", 2): (16.8, 20.8, 20.7, 2_939.70, 2_769.74), ("dak", 2): (1.4, 17.4, 6.1, 1_889.34, 1_172.66),
    ("civ", 5): (1.5, 44.9, 9.6, 23_534.062, 3_455.94), ("sen", 5): (1.2, 29.9, 7.3, 19_881.9, 2_600.64),
    ("abi", 5): (0.1, 73.8, 13.5, 4_033.4, 3_334.4), ("dak", 5): (0.8, 17.4, 7.8, 3_365.22, 2_030.13),
}  # fmt: skip
_PRINTED_OF_W4M: Final = {
    (f"{place}, k = {k}", column): value
    for (place, k), (discarded, created, deleted, meters, minutes) in _TABLE_TWO_W4M.items()
    for column, value in (
        ("people discarded, %", discarded),
        ("created, %", created),
        ("deleted, %", deleted),
        ("mean position error, km", meters / 1000),
        ("mean time error, min", minutes),
    )
}
_HALVES: Final = (
    "Errors are half extents; shares of raw and of published samples, which the paper does not tell apart."
)

EXPERIMENTS: Final = (
    Experiment(
        figure="figure-7",
        title="Fig. 7: accuracy at k = 2",
        function=two_anonymous,
        printed={
            key: value
            for one in ("civ", "sen")
            for key, value in _words(one, (20, 40), (20, 40), (70, 80), (70, 80)).items()
        },
        note=_HALVES,
    ),
    Experiment(
        figure="figure-8",
        title="Fig. 8: accuracy at k = 2, 3 and 5 (civ)",
        function=by_k,
        printed={
            **_words("k = 2", (20, 40), (20, 40), (70, 80), (70, 80)),
            **_words("k = 3", 25, None, 70, 50),
            **_words("k = 5", 15, None, 50, 20),
        },
        note=_HALVES,
    ),
    Experiment(
        figure="figure-8-k-merge",
        title="Fig. 8 at k = 5 with k-merge in the place of reshaping, and with crowds refined (civ)",
        function=with_k_merge,
        printed={
            key: value
            for row in ("k = 5, k-merge", "k = 5, k-merge, refined")
            for key, value in _words(row, 15, None, 50, 20).items()
        },
        note="What shoal does by default, and its --refine. Errors are half extents, as in Fig. 8.",
    ),
    Experiment(
        figure="figure-9",
        title="Fig. 9: suppression at k = 2 (civ), by two readings",
        function=suppression,
        printed={
            ("20 km and 6 h: samples", "deleted, %"): (0, 8),
            ("6 h: samples", "deleted, %"): 4,
            **{("20 km and 6 h: samples", f"{of}: mean half, km"): 1 for of in ("raw", "published")},
            **{("none", f"{of}: mean half, km"): 5 for of in ("raw", "published")},
        },
        note="In words: from over 5 km to about 1 km for under 8 % of the samples; 4 % at 6 h halve time.",
    ),
    Experiment(
        figure="table-2",
        title="Table 2: GLOVE with suppression at 15 km and 6 h",
        function=glove_of_table_two,
        printed={
            (f"{place}, k = {k}, by samples", column): value
            for (place, k), (deleted, meters, minutes) in _TABLE_TWO.items()
            for column, value in (
                ("deleted, %", deleted),
                ("people discarded, %", 0.0),
                *((f"{of}: mean half, km", meters / 1000) for of in ("raw", "published")),
                *((f"{of}: mean half, min", minutes) for of in ("raw", "published")),
            )
        },
        note="By samples: a sample too far from its own partner is left out; by boxes: the whole box.",
    ),
    Experiment(
        figure="table-2-w4m",
        title="Table 2: W4M-LC with delta 2 km and 10 % trash",
        function=w4m_of_table_two,
        printed=_PRINTED_OF_W4M,
        note="shoal's own W4M with LST distance; errors of the samples that it keeps and moves.",
    ),
    Experiment(
        figure="table-2-w4m-area",
        title="Table 2: W4M-LC, with the people on the paper's whole area",
        function=partial(w4m_of_table_two, whole_area=True),
        printed=_PRINTED_OF_W4M,
        note="All stations and the area of the paper's data set; far fewer people live there than in it.",
    ),
    Experiment(
        figure="figure-10",
        title="Fig. 10: accuracy against the days of the data (k = 2)",
        function=by_days,
        note="In words: one day is twice as precise as two weeks.",
    ),
    Experiment(
        figure="figure-11",
        title="Fig. 11: accuracy against the number of people (k = 2)",
        function=by_people,
        note="In words: fewer people are harder to hide, little so above a few ten thousand.",
    ),
    Experiment(
        figure="section-7.3",
        title="Sec. 7.3: radius of gyration",
        function=radii,
        printed={
            ("civ", "median, km"): 1.8,
            ("civ", "mean, km"): 12,
            ("sen", "median, km"): 2,
            ("sen", "mean, km"): 10,
        },
        note="Its other figures are Fig. 10, Fig. 11 and, for cities instead of nations, Table 2.",
    ),
)
