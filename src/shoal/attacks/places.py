"""Adversaries who know places without times."""

from collections import Counter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.cylinders import cylinders_of, undone_cells
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.moved_inward import sum_origin_evidence
from shoal.kernels.place_likelihood import (
    N_SCORES,
    Gains,
    IndexedRecords,
    PlaceResults,
    VisitedPlaces,
    link_places,
    top_places,
)
from shoal.measures.query import batches_of_records
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of

_ELSEWHERE: Final = 0.1  # visits that the adversary expects at a place where the record shows none
_MOST_PLACES: Final = 50
_PART: Final = 100
_AT_ONCE: Final = 1 << 18  # samples
_A_SHARE: Final = 1e4  # how much more a share of a record's points says than none
_RULES: Final = (
    ("visits, even boxes", "expects most visits there if boxes are filled evenly"),
    ("shares, even boxes", "expects the greatest shares of its visits there if boxes are filled evenly"),
    ("visits, hulls", "expects most visits there if boxes are hulls of few samples"),
    ("shares, hulls", "expects the greatest shares of its visits there if boxes are hulls of few samples"),
)
_UNDONE: Final = (
    ("visits, moves undone", "has most points there once its moves are undone"),
    ("shares, moves undone", "has the greatest shares of its points there once its moves are undone"),
)


def attack_top(evaluation: Evaluation[BoxTarget], most: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the N most visited cells; ties go to the smaller cell (Zang and Bolot 2011).

    Raw: people with the same N cells. On a release: the record with most expected visits (their product, or
    of their shares), and the exact anonymity set: records whose boxes hold all of the cells.
    """
    del rng  # nothing is drawn: the cells are those of the whole trajectory
    evaluation.target.drop_time_index()
    places = top_cells(evaluation.people.keep(evaluation.victims), most)
    knowledge = f"{most} most visited place{'s' * (most > 1)}"
    knows = f"knows the {knowledge} of a person, without times, and names"
    if evaluation.label == "raw":
        fitting = np.array(_shares_of_sets(evaluation, places, most))
        named = [Rule(name="same places", does=f"{knows} one of those who have the same", chances=fitting)]
    else:
        weighed = weigh_visits(evaluation, evaluation.target, evaluation.records, places, None)
        fitting = weighed.own_fits / np.maximum(weighed.candidates, 1)
        named = Rule.of_each(f"{knows} the one that", _RULES, weighed.chances)
        undone = undone_cells(evaluation)
        if undone is not None:
            weighed = weigh_visits(evaluation, undone, evaluation.records, places, None)
            named += Rule.of_each(f"{knows} the one that", _UNDONE, weighed.chances)
            does = (
                f"{knows} the one with the greatest shares of points that stand where they would be moved to"
            )
            named.append(Rule(name="moved inward", does=does, chances=_moved_inward(evaluation, places)))
    return [
        evaluation.best_rate(
            named, name="top-locations", knowledge=knowledge, max_chance=evaluation.max_chance
        ),
        evaluation.rate_of(
            fitting,
            name="top-anonymity-set",
            knowledge=knowledge,
            attacker=f"Someone who {knows} one of the records that can have them all, at random.",
            max_chance=evaluation.max_chance,
        ),
    ]


def attack_period(
    evaluation: Evaluation[BoxTarget], after_s: float | None = None, *, rng: np.random.Generator
) -> list[Rate]:
    """Link a person's visits before ``after_s`` (None = the middle) with later records.

    Score: log-likelihood of the 50 most visited earlier cells under the record's expected shares of visits,
    or its expected visits.
    """
    del rng  # nothing is drawn: everything before the moment is known
    people, victims = evaluation.people, evaluation.victims
    t = people.t
    middle = int((t.min() + t.max() + 1) // 2)
    slot_s = people.snapped_grid().slot_s
    moment = middle if after_s is None else int(evaluation.start + after_s // slot_s)
    starts, ends = people.offsets[:-1], people.offsets[1:]
    split = np.array(
        [starts[v] + np.searchsorted(t[starts[v] : ends[v]], moment) for v in victims.tolist()],
        dtype=np.int64,
    )
    both = np.flatnonzero((split > starts[victims]) & (split < ends[victims]))
    if not len(both):
        raise MisuseError(
            "nobody has samples before and after the split; give another moment with period:DURATION after "
            "the start"
        )
    later = evaluation.target.with_boxes(evaluation.target.boxes[:, 0] >= moment)
    earlier = [slice(int(starts[victims[one]]), int(split[one])) for one in both.tolist()]
    counted = [_counted(np.column_stack([people.x[rows], people.y[rows]])) for rows in earlier]
    places = [cells[:_MOST_PLACES] for cells, _ in counted]
    visits = [visits[:_MOST_PLACES] for _, visits in counted]

    def weigh_target(records: BoxTarget) -> PlaceResults:
        return weigh_visits(evaluation, records, evaluation.records[both], places, visits)

    knows = (
        "knows where a person was before a moment, and names, of the records after it (the two periods do "
        "not overlap),"
    )
    rules = Rule.of_each(f"{knows} the one that", _RULES, weigh_target(later).chances)
    undone = undone_cells(evaluation, moment)
    if undone is not None:
        rules += Rule.of_each(f"{knows} the one that", _UNDONE, weigh_target(undone).chances)
    return [
        evaluation.best_rate(
            rules,
            name="period-linkage",
            knowledge="an earlier period of the same people",
            clusters=evaluation.clusters[both],
            max_chance=evaluation.max_chance,
        )
    ]


def _moved_inward(evaluation: Evaluation[BoxTarget], places: list[Integers]) -> Floats:
    moved = cylinders_of(evaluation.as_given)
    if moved is None:
        return np.zeros(len(places))
    cell_m = evaluation.target.grid.cell_m
    lengths = np.maximum(np.diff(moved.lines.offsets), 1)

    def part(victim: int) -> float:
        score, visits = np.zeros(len(lengths)), np.empty(len(lengths))
        for x, y in ((places[victim] + 0.5) * cell_m).tolist():
            sum_origin_evidence(*moved, x, y, visits)
            score += np.log1p(_A_SHARE * visits / lengths)
        named = score == score.max()
        return float(named[evaluation.records[victim]] / named.sum())

    label = f"comparing moved places ({evaluation.label})"
    return np.array(list(evaluation.run.map(part, range(len(places)), label=label)))


def weigh_visits(
    evaluation: Evaluation[BoxTarget],
    target: BoxTarget,
    own_records: Integers,
    places: list[Integers],
    visits: list[Floats] | None,
) -> PlaceResults:
    """Rank records by places and visits (None = equally many); own_records: int64 [v]."""
    people, n = evaluation.people, len(own_records)
    spread = _count_cells(people)
    gains = Gains(1 / _ELSEWHERE, (1 - _ELSEWHERE) * spread / _ELSEWHERE)
    evaluation.target.drop_time_index()
    records = target.classes.records
    shelf = IndexedRecords(records.by_place, np.maximum(np.diff(records.offsets), 1), target.classes.sizes)
    offsets, cells = offsets_of(map(len, places)), np.concatenate(places)
    weights = np.ones(len(cells)) if visits is None else np.concatenate(visits)
    none = np.zeros(n, dtype=np.int64)
    weighed = PlaceResults(none, none.copy(), np.zeros((n, N_SCORES)))

    def part(mine: slice) -> None:
        link_places(
            VisitedPlaces(
                offsets[mine.start : mine.stop + 1], cells, weights, target.class_of[own_records[mine]]
            ),
            shelf,
            gains,
            PlaceResults._make(column[mine] for column in weighed),
        )

    evaluation.run.each_part(part, n, _PART, label=f"comparing places ({evaluation.label})")
    return weighed


def _count_cells(people: Trajectories) -> int:
    west, south, height = int(people.x.min()), int(people.y.min()), int(np.ptp(people.y)) + 1
    every = [slice(first, first + _AT_ONCE) for first in range(0, people.n_samples, _AT_ONCE)]
    codes = ((people.x[some] - west) * height + (people.y[some] - south) for some in every)
    return int(pc.count_distinct(pa.chunked_array([pc.unique(pa.array(part)) for part in codes])).as_py())


def _shares_of_sets(evaluation: Evaluation[BoxTarget], places: list[Integers], most: int) -> list[float]:
    of_record = [cells.tobytes() for cells in top_cells(evaluation.people, most)]
    sizes = Counter(of_record)
    victim_cells = [cells.tobytes() for cells in places]
    return [
        float(of_record[own_record] == cells) / max(sizes[cells], 1)
        for cells, own_record in zip(victim_cells, evaluation.records.tolist(), strict=True)
    ]


def top_cells(people: Trajectories, most: int) -> list[Integers]:
    """int64 [<= N, 2] of each person in cells: the most visited ones, ascending."""
    n, offsets = people.n_subjects, people.offsets
    cells, counts = np.empty((n, most, 2), dtype=np.int64), np.empty(n, dtype=np.int64)
    for some in batches_of_records(offsets, _AT_ONCE):  # copies of all places would be the peak of memory
        rows = slice(offsets[some.start], offsets[some.stop])
        x, y = (np.array(column[rows], dtype=np.int64) for column in (people.x, people.y))
        top_places(offsets[some.start : some.stop + 1] - rows.start, x, y, most, cells[some], counts[some])
    return [record_cells[:count] for record_cells, count in zip(cells, counts.tolist(), strict=True)]


def _counted(cells: Integers) -> tuple[Integers, Floats]:
    least, width = cells.min(axis=0), int(np.ptp(cells[:, 1])) + 1
    codes, visits = np.unique((cells - least) @ np.array([width, 1]), return_counts=True)
    order = np.argsort(-visits, kind="stable")
    return np.column_stack(np.divmod(codes[order], width)) + least, visits[order].astype(np.float64)
