"""Adversaries who know places without times.

The N most visited (Zang and Bolot 2011), and those of another period.
"""

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.attacks.rate import Rate
from shoal.attacks.target import Scene, expected_hits
from shoal.errors import MisuseError
from shoal.kernels.cover_index import Index, expected_visits
from shoal.runtime.arrays import Floats, Integers

_ELSEWHERE: Final = (
    0.1  # how often the adversary expects to see a person at a place that the record does not show
)
_MOST_PLACES: Final = 50


def attack_top(scene: Scene, most: int, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the N most visited cells; ties in visits go by the smaller cell.

    On raw data the candidates are the people with the same set of N cells (exact). On a release two things
    are measured: the record that expects most visits to these cells (the product of expected visits, over
    boxes taken as uniform inside) is named; and the anonymity set, which is exact: the records whose boxes
    hold all of the cells, one of which is named at random.
    """
    del rng
    places = [top_cells(scene, victim, most) for victim in scene.victims.tolist()]
    knows = f"{most} most visited place{'s' * (most > 1)}"
    if scene.label == "raw":
        named = fitting = _shares_of_sets(scene, places, most)
    else:
        pairs = list(zip(places, scene.own.tolist(), strict=True))
        visits = [(_visits(scene, cells), own) for cells, own in pairs]
        named = [expected_hits(np.log(seen + _ELSEWHERE).sum(axis=1), own) for seen, own in visits]
        fitting = [_share_of_set(np.asarray((seen > 0).all(axis=1)), own) for seen, own in visits]
    does = {
        "top-locations": (named, "names the record that fits them best"),
        "top-anonymity-set": (fitting, "names one of the records that can have them all, at random"),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=knows,
            attacker=f"Someone who knows the {knows} of a person, without times, and {sentence}.",
            target=scene.label,
            baseline=scene.guess,
        )
        for name, (won, sentence) in does.items()
    ]


def attack_period(scene: Scene, split_slot: int | None, rng: np.random.Generator) -> list[Rate]:
    """Linkage of what a person did before a moment with what the records show from that moment on.

    split_slot: the moment; None = the middle of the data. Score of a record: log-likelihood of the person's
    earlier visits (to their 50 most visited cells) under the record's expected share of visits. People
    without earlier samples, or without later ones where it can be told, are no victims. Raises MisuseError
    when nobody is left.
    """
    del rng
    t = scene.known.t
    moment = int((t.min() + t.max() + 1) // 2) if split_slot is None else split_slot
    starts, ends = scene.known.offsets[:-1], scene.known.offsets[1:]
    split = np.array(
        [starts[v] + np.searchsorted(t[starts[v] : ends[v]], moment) for v in scene.victims.tolist()],
        dtype=np.int64,
    )
    both = (split > starts[scene.victims]) & (split < ends[scene.victims])
    if not both.any():
        raise MisuseError(
            "nobody has samples before and after the split; give another moment with period:DURATION after "
            "the start"
        )
    later = scene.target.with_boxes(scene.target.boxes[:, 0] >= moment)
    stage = Scene(
        known=scene.known,
        target=later,
        victims=scene.victims[both],
        own=scene.own[both],
        label=scene.label,
        run=scene.run,
    )
    lengths = np.maximum(np.diff(later.offsets), 1)[:, None]
    width = int(np.ptp(scene.known.y)) + 1
    spread = len(
        np.unique((scene.known.x - scene.known.x.min()) * width + (scene.known.y - scene.known.y.min()))
    )

    def wins(place: int) -> float:
        victim = int(stage.victims[place])
        earlier = slice(int(starts[victim]), int(split[both][place]))
        cells, visits = _counted(np.column_stack([scene.known.x[earlier], scene.known.y[earlier]]))
        cells, visits = cells[:_MOST_PLACES], visits[:_MOST_PLACES]
        shares = (1 - _ELSEWHERE) * _visits(stage, cells) / lengths + _ELSEWHERE / spread
        return expected_hits(
            (np.log(shares) * visits).sum(axis=1), int(stage.own[place])
        )  # rows alike must give sums alike: no dot product

    won = list(scene.run.map(wins, range(len(stage.victims)), label=f"comparing periods ({scene.label})"))
    return [
        Rate.of(
            won,
            name="period-linkage",
            knowledge="an earlier period of the same people",
            attacker=(
                "Someone who knows where a person was before a moment, and names the record whose places "
                "after it fit best "
                "(the two periods do not overlap)."
            ),
            target=scene.label,
            baseline=scene.guess,
        )
    ]


def _shares_of_sets(scene: Scene, places: list[Integers], most: int) -> list[float]:
    """The chance to name the right one among the people with the same set of N cells, for each victim."""
    of_record = [
        top_cells_of_boxes(scene.target.record(r), most).tobytes() for r in range(scene.target.n_records)
    ]
    sizes = Counter(of_record)
    known = [cells.tobytes() for cells in places]
    return [
        float(of_record[own] == cells) / max(sizes[cells], 1)
        for cells, own in zip(known, scene.own.tolist(), strict=True)
    ]


def _share_of_set(fits: npt.NDArray[np.bool_], own: int) -> float:
    """The chance to name the right record among those that fit."""
    return float(fits[own]) / max(int(np.count_nonzero(fits)), 1)


def top_cells(scene: Scene, victim: int, most: int) -> Integers:
    """int64 [<= N, 2]: the most visited cells of a person, in ascending order of cells."""
    _, x, y = scene.known.samples_of(victim)
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


def _visits(scene: Scene, cells: Integers) -> Floats:
    """[records, cells]: expected visits."""
    index = scene.target.by_x
    visits = np.zeros((scene.target.n_records, len(cells)))
    expected_visits(cells, Index(index.class_offsets, index.boxes, index.record), visits)
    return visits
