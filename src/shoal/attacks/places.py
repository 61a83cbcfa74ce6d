"""Adversaries who know places without times: the most visited ones, and those of an earlier period."""

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.attacks.evaluation import Evaluation, expected_hits
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.cover_index import Index, expected_visits
from shoal.runtime.arrays import Floats, Integers

_ELSEWHERE: Final = 0.1  # visits that the adversary expects at a place where the record shows none
_MOST_PLACES: Final = 50


def attack_top(evaluation: Evaluation[BoxTarget], most: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the N most visited cells; ties in visits go to the smaller cell (Zang and Bolot 2011).

    On raw data the candidates are the people with the same set of N cells (exact). On a release two things
    are measured: the record that expects most visits to these cells (the product of expected visits, a person
    being anywhere in a box with equal chance) is named; and the anonymity set, which is exact: one of the
    records whose boxes hold all of the cells is named at random.
    """
    del rng  # nothing is drawn: the cells are those of the whole trajectory
    places = [top_cells(evaluation, victim, most) for victim in evaluation.victims.tolist()]
    knowledge = f"{most} most visited place{'s' * (most > 1)}"
    if evaluation.label == "raw":
        named = fitting = _shares_of_sets(evaluation, places, most)
    else:
        pairs = list(zip(places, evaluation.own.tolist(), strict=True))
        visits = [(_visits(evaluation.target, cells), own) for cells, own in pairs]
        named = [expected_hits(np.log(seen + _ELSEWHERE).sum(axis=1), own) for seen, own in visits]
        fitting = [_share_of_set(np.asarray((seen > 0).all(axis=1)), own) for seen, own in visits]
    outcomes = {
        "top-locations": (named, "names the record that fits them best"),
        "top-anonymity-set": (fitting, "names one of the records that can have them all, at random"),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=knowledge,
            attacker=f"Someone who knows the {knowledge} of a person, without times, and {does}.",
            target=evaluation.label,
            baseline=evaluation.guess,
        )
        for name, (won, does) in outcomes.items()
    ]


def attack_period(
    evaluation: Evaluation[BoxTarget], after_s: float | None = None, *, rng: np.random.Generator
) -> list[Rate]:
    """Linkage of what a person did before a moment with what the records show from that moment on.

    after_s: the moment, in seconds after the raw data begins; None = the middle of the data. The score of a
    record is the log-likelihood of the person's earlier visits (to their 50 most visited cells) under the
    record's expected shares of visits. People without earlier samples, or without later ones, are no victims.
    Raises MisuseError when nobody is left.
    """
    del rng  # nothing is drawn: everything before the moment is known
    known, victims = evaluation.known, evaluation.victims
    t = known.t
    middle = int((t.min() + t.max() + 1) // 2)
    slot_s = known.snapped_grid().slot_s
    moment = middle if after_s is None else int(evaluation.start + after_s // slot_s)
    starts, ends = known.offsets[:-1], known.offsets[1:]
    split = np.array(
        [starts[v] + np.searchsorted(t[starts[v] : ends[v]], moment) for v in victims.tolist()],
        dtype=np.int64,
    )
    both = (split > starts[victims]) & (split < ends[victims])
    if not both.any():
        raise MisuseError(
            "nobody has samples before and after the split; give another moment with period:DURATION after "
            "the start"
        )
    victims, own, split = victims[both], evaluation.own[both], split[both]
    later = evaluation.target.with_boxes(evaluation.target.boxes[:, 0] >= moment)
    lengths = np.maximum(np.diff(later.offsets), 1)[:, None]
    width = int(np.ptp(known.y)) + 1
    spread = len(np.unique((known.x - known.x.min()) * width + (known.y - known.y.min())))

    def wins(place: int) -> float:
        earlier = slice(int(starts[victims[place]]), int(split[place]))
        cells, visits = _counted(np.column_stack([known.x[earlier], known.y[earlier]]))
        cells, visits = cells[:_MOST_PLACES], visits[:_MOST_PLACES]
        shares = (1 - _ELSEWHERE) * _visits(later, cells) / lengths + _ELSEWHERE / spread
        # equal rows must give equal sums, which a dot product does not
        return expected_hits((np.log(shares) * visits).sum(axis=1), int(own[place]))

    label = f"comparing periods ({evaluation.label})"
    return [
        Rate.of(
            list(evaluation.run.map(wins, range(len(victims)), label=label)),
            name="period-linkage",
            knowledge="an earlier period of the same people",
            attacker="Someone who knows where a person was before a moment, and names the record whose "
            "places after it fit best (the two periods do not overlap).",
            target=evaluation.label,
            baseline=evaluation.guess,
        )
    ]


def _shares_of_sets(evaluation: Evaluation[BoxTarget], places: list[Integers], most: int) -> list[float]:
    """The chance to name the right one among the people with the same set of N cells, for each victim."""
    of_record = [
        top_cells_of_boxes(evaluation.target.record(r), most).tobytes()
        for r in range(evaluation.target.n_records)
    ]
    sizes = Counter(of_record)
    known = [cells.tobytes() for cells in places]
    return [
        float(of_record[own] == cells) / max(sizes[cells], 1)
        for cells, own in zip(known, evaluation.own.tolist(), strict=True)
    ]


def _share_of_set(fits: npt.NDArray[np.bool_], own: int) -> float:
    """The chance to name the right record among those that fit."""
    return float(fits[own]) / max(int(np.count_nonzero(fits)), 1)


def top_cells(evaluation: Evaluation[BoxTarget], victim: int, most: int) -> Integers:
    """int64 [<= N, 2]: the most visited cells of a person, in ascending order of cells."""
    _, x, y = evaluation.known.samples_of(victim)
    return _first_places(np.column_stack([x, y]), most)


def top_cells_of_boxes(boxes: Integers, most: int) -> Integers:
    """The same of a record whose boxes are single cells."""
    return _first_places(boxes[:, 2:4], most)


def _first_places(cells: Integers, most: int) -> Integers:
    first = _counted(cells)[0][:most]
    return np.ascontiguousarray(first[np.lexsort((first[:, 1], first[:, 0]))])


def _counted(cells: Integers) -> tuple[Integers, Floats]:
    """Distinct cells with their visits, most visited first, then by cell."""
    distinct, visits = np.unique(cells, axis=0, return_counts=True)
    order = np.argsort(-visits, kind="stable")
    return np.ascontiguousarray(distinct[order]), visits[order].astype(np.float64)


def _visits(target: BoxTarget, cells: Integers) -> Floats:
    """[records, cells]: expected visits."""
    index = target.by_x
    visits = np.zeros((target.n_records, len(cells)))
    expected_visits(cells, Index(index.class_offsets, index.boxes, index.record), visits)
    return visits
