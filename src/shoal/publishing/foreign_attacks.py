"""The attacks on a file of another tool, with the people behind its records as far as they are known.

Records of people with one record each are attack_foreign_file as they are; anything else row by row.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from shoal.attacks import Rate, attack
from shoal.errors import MisuseError
from shoal.io.foreign import Foreign
from shoal.model.claims import KAnonymity
from shoal.model.projection import WGS84, transform
from shoal.model.release import Boxes, Linkage, Losses, Payload, Points, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.publishing.coarseness import RawSamples
from shoal.publishing.foreign_links import PersonLinks, by_content, in_units_of
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import counted

_OF_POINTS: Final = ("nearest:1", "nearest:4", "track:4")
_OF_ROWS: Final = ("points:1",)
_MOST_ROWS: Final = 20_000  # rows without ids that attacks are played on, drawn at random
_GRID: Final = Grid()


def attack_foreign_file(
    published: Foreign,
    original: Trajectories,
    linked: PersonLinks,
    ranged: bool,
    tries: int,
    rng: Randomness,
    run: Run,
) -> tuple[tuple[Rate, ...], list[str]]:
    """Attack the raw data and the file, whose people have exactly one record each; return rates and notes."""
    if not tries:
        return (), []
    counts = np.bincount(linked.person_of[linked.person_of >= 0], minlength=original.n_subjects)
    notes: list[str] = []
    if published.has_ids and (counts <= 1).all():
        linking = linked.person_of
        people = original
    else:
        if published.has_ids:
            notes.append(
                "people have several records each; attacks were played on rows alone (read RAW with "
                "--per-day, or name its trips with --person, if these are the units)"
            )
        published, people, linking = _row_for_row(published, original, linked, rng)
    has_person = linking >= 0
    if not has_person.any():
        return (), [*notes, "no attack was played: nobody was found behind any record"]
    if not has_person.all():
        unlinked = int((~has_person).sum())
        notes.append(
            f"{counted(unlinked, 'record')} of nobody {'was' if unlinked == 1 else 'were'} "
            "left out of the attacks, which makes them easier to win"
        )
    payload, offsets, names, snapped = _on_one_grid(published, people, has_person, ranged)
    links = Linkage(
        uids=tuple(people.ids[one] for one in linking[has_person].tolist()),
        trajectory_ids=names,
    )
    release = Release(
        trajectory_ids=names,
        offsets=offsets,
        payload=payload,
        claim=KAnonymity(k=2, truthful=False, disjoint_in_time=False),
        grid=_GRID if payload.on_grid else None,
        method="another-tool",
        parameters={},
        losses=Losses(subjects_suppressed=people.n_subjects - len(names)),
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=True,
    )
    rows_alone = people is not original
    asked: list[tuple[str, ...] | None] = [_OF_ROWS if rows_alone else None]
    if not payload.on_grid and not rows_alone:
        asked += [(one,) for one in _OF_POINTS]
    rates: list[Rate] = []
    for knowledge in asked:
        try:
            outcome = attack(snapped, release, links, rng=rng, knowledge=knowledge, tries=tries,
                           targets=("raw", "release"), run=run)  # fmt: skip
        except MisuseError as error:
            notes.append(f"{', '.join(knowledge or ())} was not played: {error}")
            continue
        rates += outcome.rates
        notes += outcome.notes
    if not linked.true:
        notes.append("attacks were judged by the people found by content; --linkage gives the true ones")
    return tuple(rates), list(dict.fromkeys(notes))


def _row_for_row(
    published: Foreign, original: Trajectories, linked: PersonLinks, rng: Randomness
) -> tuple[Foreign, Trajectories, Integers]:
    """Rows (at most 20,000) as records, raw samples as people, and the sample behind each row."""
    rows = np.arange(published.n_rows)
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rng.permutation(len(rows))[:_MOST_ROWS])
    some = replace(
        published,
        records=tuple(f"row {row + 1}" for row in rows.tolist()),
        record=np.arange(len(rows)),
        has_ids=False,
        t=published.t.take(rows),
        first=published.first.take(rows),
        second=published.second.take(rows),
        corners=None
        if published.corners is None
        else (published.corners[0].take(rows), published.corners[1].take(rows)),
    )
    n = original.n_samples
    width = len(str(n))
    people = replace(
        original,
        ids=tuple(f"{one:0{width}d}" for one in range(n)),
        offsets=np.arange(n + 1),
        input_rank=None,
    )
    samples = in_units_of(some, people)
    person_of_row = linked.person_of[published.record[rows]] if linked.true else None
    return some, people, _samples_of_rows(some, samples, person_of_row, original)


def _samples_of_rows(
    some: Foreign, samples: RawSamples, person_of_row: Integers | None, original: Trajectories
) -> Integers:
    """int64 [rows]: a raw sample in each row, of its person where known; no sample in two rows."""
    sample_of_row = by_content(some, samples).person_of
    if person_of_row is None:
        return sample_of_row
    subject = np.repeat(np.arange(original.n_subjects), original.lengths)
    return np.where((sample_of_row >= 0) & (subject[sample_of_row] == person_of_row), sample_of_row, -1)


def _on_one_grid(
    published: Foreign, people: Trajectories, has_person: Any, ranged: bool
) -> tuple[Payload, Integers, tuple[str, ...], Trajectories]:
    """The records with a person as points, or as boxes of 100 m and 60 s that hold each range."""
    place = np.cumsum(has_person) - 1
    rows = np.flatnonzero(has_person[published.record])
    record = place[published.record[rows]]
    names = tuple(f"{number:x}" for number in range(int(has_person.sum())))
    axes = (published.t, *_in_meters(published, people))
    t, x, y = (
        _bounded(axis.take(rows), raw) for axis, raw in zip(axes, (people.t, people.x, people.y), strict=True)
    )
    single = not ranged and all(
        axis.single.all() for axis in (published.t, published.first, published.second)
    )
    counts = np.bincount(record, minlength=len(names))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if single:
        order = np.lexsort((y[0], x[0], t[0], record))
        return Points(t=t[0][order], x=x[0][order], y=y[0][order]), offsets, names, people
    steps = (_GRID.slot_s, _GRID.cell_m, _GRID.cell_m)
    low = [np.floor(axis[0] / step).astype(np.int64) for axis, step in zip((t, x, y), steps, strict=True)]
    high = [
        np.maximum(np.ceil(axis[1] / step).astype(np.int64), least + 1)
        for axis, step, least in zip((t, x, y), steps, low, strict=True)
    ]
    boxes = Boxes(t_start=low[0], t_end=high[0], x_min=low[1], y_min=low[2], x_max=high[1], y_max=high[2])
    order = np.lexsort((*boxes.columns()[::-1], record))
    return boxes.take(order), offsets, names, people.snapped_to(_GRID)


def _bounded(axis: Any, raw: Floats) -> tuple[Floats, Floats]:
    low = np.where(np.isfinite(axis.low), axis.low, raw.min())
    high = np.where(np.isfinite(axis.high), axis.high, raw.max() + 1)
    return low, np.maximum(high, low)


def _in_meters(published: Foreign, people: Trajectories) -> tuple[Any, Any]:
    """Both axes of space on the plane of the raw data; a rectangle of degrees becomes its bounding box."""
    first, second = published.corners or (published.first, published.second)
    crs = published.crs if published.places == "meters" else WGS84
    if people.crs is None or crs == people.crs:
        return first, second
    lon_lat = transform(people.crs, crs or WGS84, people.x, people.y)
    west, east = _bounded(first, lon_lat[0])
    south, north = _bounded(second, lon_lat[1])
    middle = ((west + east) / 2, (south + north) / 2)
    around = [
        transform(crs or WGS84, people.crs, a, b)
        for a in (west, middle[0], east)
        for b in (south, middle[1], north)
    ]
    xs, ys = (np.array([corner[side] for corner in around]) for side in (0, 1))
    kind = type(first)
    return kind(low=xs.min(axis=0), high=xs.max(axis=0)), kind(low=ys.min(axis=0), high=ys.max(axis=0))
