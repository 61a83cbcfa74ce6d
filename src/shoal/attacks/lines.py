"""Lines of records: one person's records in several releases, joined, and searched like one release.

The adversary can tell which records of the releases are of one person, as where pseudonyms or crowds stay,
and knows something of the person in each. Where k people share a crowd in all releases, their lines are
equal, and no adversary names the right one with a chance above 1/k. Lines of people whom some releases lack
differ from those of their crowd; who knows these absences, too, may win more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Context, Evaluation, Victims
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.model.claims import Claim
from shoal.model.grid import Grid
from shoal.model.linkage_checks import require_linked_records
from shoal.model.projection import transform
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.units import DAY_S

LinkedRelease = tuple[Trajectories, Release, Linkage]
_WEEK_S: Final = 7 * DAY_S
_NO_PLANE: Final = (
    "one of the releases is in local meters, so that places cannot be joined; attack each alone"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines:
    """Everybody with a record in any release.

    people: samples of the releases that hold a record of the person. release_of, number_of: int64
    [samples]; the same sample has one number in releases of one period. target: a line for each person.
    in_all, in_newest: int64, people with a record in all releases, and in the newest.
    """

    people: Trajectories
    release_of: Integers
    number_of: Integers
    target: BoxTarget
    in_all: Integers
    in_newest: Integers


def attack_lines(
    releases: Sequence[LinkedRelease],
    knowledge: Sequence[str],
    *,
    rng: np.random.Generator,
    tries: int,
    run: Run | None = None,
) -> list[Rate]:
    """Play these kinds of knowledge, of each release, against the lines.

    releases: raw data, release and linkage of each, newest first. Victims are people of all releases; where
    some of the newest are missing in others, once more all of the newest, by somebody who knows the
    absences. Knowledge that does not apply to lines is left out. Raises MisuseError where nobody is in all.
    """
    requests = [one for one in map(parse_knowledge, knowledge) if one.adversary.joins_releases]
    if not requests:
        return []
    lines = join_releases(releases)
    if not len(lines.in_all):
        raise MisuseError("nobody has a record in all of the releases; name fewer of them")
    groups = {"": lines.in_all}
    if len(lines.in_all) < len(lines.in_newest):
        groups[" and absences"] = lines.in_newest
    joined = f", {len(releases)} releases joined"
    seed = int(rng.integers(0, 2**63))
    rates: list[Rate] = []
    for also, people in groups.items():
        victims = np.sort(rng.choice(people, size=min(len(people), tries), replace=False))
        evaluation = _evaluation(lines, victims, releases[0][1].claim, run or Run())
        rates += [
            replace(rate, asked=one.text, knowledge=f"{rate.knowledge}{also}{joined}")
            for one in requests
            for rate in one.rates_on(evaluation, np.random.default_rng(seed))
        ]
    return rates


def _evaluation(lines: Lines, victims: Integers, claim: Claim, run: Run) -> Evaluation[BoxTarget]:
    everybody = np.arange(lines.people.n_subjects)
    return Evaluation(
        people=lines.people,
        target=lines.target,
        victims=victims,
        records=victims,
        label="release",
        start=float(lines.people.t.min()),
        run=run,
        context=Context(
            claim=claim,
            inside=Victims(label="release", people=lines.people, subjects=everybody, records=everybody),
        ),
        release_of=lines.release_of,
        number_of=lines.number_of,
    )


def join_releases(releases: Sequence[LinkedRelease]) -> Lines:
    """The lines of releases, on the plane of the newest; others are moved by whole cells.

    Where periods overlap, each release gets a time of its own, whole weeks later: what is known of a person
    must fit the boxes of each release, not those of any.

    Raises MisuseError for other cells or slots, or a release without a plane among others.
    """
    newest = releases[0][1]
    grid = newest.snapped_grid() if newest.payload.on_grid else Grid()
    records = [require_linked_records(*linked) for linked in releases]
    ids = sorted(
        {
            original.ids[subject]
            for (original, _, _), record in zip(releases, records, strict=True)
            for subject in np.flatnonzero(record >= 0).tolist()
        }
    )
    place = {uid: number for number, uid in enumerate(ids)}
    later = _weeks_apart([original for original, _, _ in releases], grid)
    samples, boxes = [], []
    n_of = np.zeros(len(ids), dtype=np.int64)
    in_newest = np.empty(0, dtype=np.int64)
    for number, ((original, release, _), record) in enumerate(zip(releases, records, strict=True)):
        on_grid = release.as_boxes(grid)
        if on_grid.snapped_grid() != grid:
            raise MisuseError(
                "the releases have other cells or slots, so that their records cannot be joined"
            )
        snapped = original if original.grid is not None else original.snapped_to(grid)
        published = record >= 0
        person = np.array([place.get(uid, -1) for uid in original.ids], dtype=np.int64)
        n_of[person[published]] += 1
        in_newest = np.sort(person[published]) if number == 0 else in_newest
        rows = np.repeat(published, snapped.lengths)
        east, north = _cells_between(release, newest, snapped, grid)
        columns = (np.repeat(person, snapped.lengths), snapped.t, snapped.x + east, snapped.y + north)
        samples.append(np.column_stack([*columns, np.full(len(rows), number)])[rows])
        person_of = np.empty(release.n_records, dtype=np.int64)
        person_of[record[published]] = person[published]
        moved = [number * later, number * later, east, north, east, north]
        shifted = np.column_stack(on_grid.boxes.columns()) + np.array(moved)
        boxes.append(np.column_stack([np.repeat(person_of, np.diff(on_grid.offsets)), shifted]))
    known, of_line = (_in_order(np.concatenate(parts)) for parts in (samples, boxes))
    number_of = np.cumsum(np.r_[0, (np.diff(known[:, :4], axis=0) != 0).any(axis=1)])
    known[:, 1] += known[:, 4] * later
    known = _in_order(np.column_stack([known, number_of]))
    sample_offsets, box_offsets = (
        np.searchsorted(table[:, 0], np.arange(len(ids) + 1)).astype(np.int64) for table in (known, of_line)
    )
    t, x, y = (np.ascontiguousarray(column) for column in known[:, 1:4].T)
    return Lines(
        people=Trajectories(
            ids=tuple(ids),
            offsets=sample_offsets,
            t=t,
            x=x,
            y=y,
            grid=grid,
            crs=newest.crs,
            intake=releases[0][0].intake,
        ),
        release_of=known[:, 4],
        number_of=known[:, 5],
        target=BoxTarget.of_boxes(box_offsets, of_line[:, 1:], grid),
        in_all=np.flatnonzero(n_of == len(releases)),
        in_newest=in_newest,
    )


def _weeks_apart(people: Sequence[Trajectories], grid: Grid) -> int:
    """Slots that part releases whose periods overlap, hours and days of the week kept; 0 if none overlap."""
    periods_s = sorted(
        tuple(
            float(end) * (1.0 if one.grid is None else one.grid.slot_s) for end in (one.t.min(), one.t.max())
        )
        for one in people
    )
    if all(earlier[1] < later[0] for earlier, later in pairwise(periods_s)):
        return 0
    span_s = max(last for _, last in periods_s) - periods_s[0][0]
    return round((1 + span_s // _WEEK_S) * _WEEK_S / grid.slot_s)


def _in_order(rows: Integers) -> Integers:
    return rows[np.lexsort(rows.T[::-1])]


def _cells_between(release: Release, newest: Release, people: Trajectories, grid: Grid) -> tuple[int, int]:
    """Cells from places on the plane of a release to those of the newest, at the middle of its samples."""
    if release.crs == newest.crs:
        return 0, 0
    if release.crs is None or newest.crs is None:
        raise MisuseError(_NO_PLANE)
    x_m, y_m = (np.array([float(column.mean()) * grid.cell_m]) for column in (people.x, people.y))
    moved = transform(release.crs, newest.crs, x_m, y_m)
    east, north = (
        round(float(there_m[0] - here_m[0]) / grid.cell_m)
        for there_m, here_m in zip(moved, (x_m, y_m), strict=True)
    )
    return east, north
