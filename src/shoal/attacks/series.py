"""Link two releases of the same people (series of releases, arXiv 2510.24807)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.cylinders import undone_cells, undone_release
from shoal.attacks.evaluation import Earlier, Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.agreement import FeatureLists, TouchedSquares, add_agreement, list_presence, total_presence
from shoal.kernels.assignment import least_assignment
from shoal.model.projection import transform
from shoal.model.release import Release
from shoal.runtime.arrays import Floats, Integers
from shoal.units import DAY_S

NO_EARLIER: Final = "series needs an earlier release of the same people; give --earlier"
_SIDES: Final = (1, 8)  # cells; a box counts at each scale at which it has few cells
_MOST_CELLS: Final = 256
_PARTS: Final = 4  # of a day; a longer box belongs to none of them
_CORNERS: Final = 0.5  # of a box's presence: its sides are touched by samples
_MOST_SCORES: Final = 1 << 23  # of which 64 MiB are held
_RIVALS: Final = 10
_STEPS: Final = 1 << 30  # whole costs from the best score to none
_ALIKE: Final = 1e-9
_RULES: Final = (
    ("all at once", "so that all records agree best together, no two with the same one"),
    ("against rivals", "that agrees with it best, beside what the ten best others of either agree"),
    ("by itself", "that agrees with it best"),
)


def attack_series(evaluation: Evaluation[BoxTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Name for each record the one of an earlier release with the same places at the same hours.

    The score sums, over places and parts of the day, one record's presence times the log-odds of the
    other's. For the control group, a random record stands in. As many other records as fit in memory are
    rivals.
    """
    if evaluation.context.earlier is None:
        raise MisuseError(NO_EARLIER)
    target = evaluation.target
    earlier_release, _ = evaluation.context.earlier
    earlier = _on_grid_of(evaluation, earlier_release)
    before = _own_before(evaluation, evaluation.context.earlier, rng)
    tried = np.flatnonzero(before >= 0)
    if not len(tried):
        raise MisuseError("nobody is in both releases; check that they are of the same people")
    asked, row = np.unique(evaluation.records[tried], return_inverse=True)
    room = max(_MOST_SCORES // earlier.n_records - len(asked), 0)
    others = np.setdiff1d(np.arange(target.n_records), asked)[:room]
    compared = np.concatenate([asked, others])
    rules, scores = list(_RULES), [_scores(target, earlier, compared)]
    undone, before_undone = undone_cells(evaluation), undone_release(earlier_release, evaluation.run)
    undone_before = None if before_undone is None else _on_grid_of(evaluation, before_undone)
    if undone is not None or undone_before is not None:
        rules += [(f"{name}, moves undone", f"{does}, once moves are undone") for name, does in _RULES]
        scores.append(_scores(undone or target, undone_before or earlier, compared))
    of_class, right = earlier.class_of, earlier.class_of[before[tried]]
    sizes = np.bincount(of_class)
    by_class = np.array(
        [
            [named[place].get(one, 0.0) for place, one in zip(row.tolist(), right.tolist(), strict=True)]
            for own_scores in scores
            for named in _named(own_scores, of_class)
        ]
    )
    does = "holds this release and an earlier one, and names for a record of this one"
    chances_by_class = {
        "series-linkage": ("that", by_class / sizes[right], 1.0),
        "series-class": ("those, equal among each other,", by_class, float(sizes[right].mean())),
    }
    return [
        evaluation.best_rate(
            Rule.of_each(f"{does} {whose} of the other", rules, won.T),
            name=rate,
            knowledge="an earlier release",
            baseline=choices / earlier.n_records,
            clusters=evaluation.clusters[tried],
        )
        for rate, (whose, won, choices) in chances_by_class.items()
    ]


def _named(scores: Floats, of_class: Integers) -> Iterator[list[dict[int, float]]]:
    yield [{best_class: 1.0} for best_class in of_class[_all_at_once(scores)].tolist()]
    rivals = sum(
        np.partition(scores, -least, axis=axis)
        .take(range(-least, 0), axis=axis)
        .mean(axis=axis, keepdims=True)
        for axis in (0, 1)
        for least in (min(_RIVALS, scores.shape[axis]),)
    )
    for scored in (2 * scores - rivals, scores):
        best = scored >= (scored.max(axis=1) - _ALIKE * np.abs(scored).max(axis=1))[:, None]
        classes = (np.unique(of_class[best_row]).tolist() for best_row in best)
        yield [dict.fromkeys(best_classes, 1 / len(best_classes)) for best_classes in classes]


def _all_at_once(scores: Floats) -> Integers:
    """The greatest sum of scores; others get their best."""
    most = float(scores.max())
    costs = np.rint((most - scores) * (_STEPS / most if most > 0 else 0)).astype(np.int64)
    if len(costs) <= costs.shape[1]:
        return np.asarray(least_assignment(costs))
    named: Integers = np.asarray(costs.argmin(axis=1))
    assigned = least_assignment(np.ascontiguousarray(costs.T))
    named[assigned] = np.arange(costs.shape[1])
    return named


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale:
    """Boxes in squares of several cells."""

    squares: Integers  # int64 [b, 4], the first and the last one in x and in y
    counts: Integers  # squares that each box touches, 0 = too many to be informative
    part: Integers  # of the day

    @classmethod
    def of(cls, target: BoxTarget, side: int) -> "Scale":
        """The scale of squares whose sides are this many cells."""
        boxes = target.boxes.astype(np.int64)
        slot_s, part_s = target.grid.slot_s, DAY_S / _PARTS
        squares = (boxes[:, [2, 4, 3, 5]] - np.array([0, 1, 0, 1])) // side
        counts = (squares[:, 1] - squares[:, 0] + 1) * (squares[:, 3] - squares[:, 2] + 1)
        middle_s = (boxes[:, 0] + boxes[:, 1]) / 2 * slot_s
        short = (boxes[:, 1] - boxes[:, 0]) * slot_s <= part_s
        part = np.where(short, middle_s % DAY_S // part_s, _PARTS).astype(np.int64)
        return cls(squares=squares, counts=np.where(counts <= _MOST_CELLS, counts, 0), part=part)


@dataclass(frozen=True, eq=False, kw_only=True)
class Presence:
    """Where records are at which hours: int64 [m] records and features, and [m] shares."""

    record: Integers
    feature: Integers
    share: Floats


def _presences(targets: Sequence[BoxTarget]) -> list[Presence]:
    scales = [[Scale.of(target, side) for side in _SIDES] for target in targets]
    squares = np.concatenate(
        [scale.squares[scale.counts > 0] for target_scales in scales for scale in target_scales]
    )
    least = squares.min(axis=0, initial=0)[::2]
    width, height = (squares.max(axis=0, initial=0)[1::2] - least + 1).tolist()
    presences = []
    for target, target_scales in zip(targets, scales, strict=True):
        totals = np.zeros(target.n_records)
        for scale in target_scales:
            total_presence(target.offsets, scale.counts, _CORNERS, totals)
        listed = []
        for number, scale in enumerate(target_scales):
            room = int(scale.counts.sum())
            pairs, shares = np.empty((2, room), dtype=np.int64), np.empty(room)
            firsts = (number * (_PARTS + 1) + scale.part) * width * height
            shifted = scale.squares - np.repeat(least, 2)
            touched = TouchedSquares(target.offsets, shifted, firsts, scale.counts, height)
            n = list_presence(touched, _CORNERS, totals, pairs, shares)
            listed.append((*pairs[:, :n], shares[:n]))
        record, feature, share = (np.concatenate(column) for column in zip(*listed, strict=True))
        presences.append(Presence(record=record, feature=feature, share=share))
    return presences


def _scores(target: BoxTarget, earlier: BoxTarget, asked: Integers) -> Floats:
    both = presence, presence_earlier = _presences([target, earlier])
    features, number = np.unique(np.concatenate([one.feature for one in both]), return_inverse=True)
    row_of = np.full(target.n_records, -1, dtype=np.int64)
    row_of[asked] = np.arange(len(asked))
    listed = _listed(presence, number[: len(presence.record)], len(features), target.n_records, row_of)
    every, rest = np.arange(earlier.n_records), number[len(presence.record) :]
    others = _listed(presence_earlier, rest, len(features), earlier.n_records, every)
    scores = np.zeros((len(asked), earlier.n_records))
    add_agreement(listed, others, scores)
    return scores


def _listed(
    presence: Presence, feature: Integers, n_features: int, n_records: int, row_of: Integers
) -> FeatureLists:
    order = np.argsort(feature * n_records + presence.record)
    feature, record, share = feature[order], presence.record[order], presence.share[order]
    usual = np.bincount(feature, weights=share, minlength=n_features) / n_records
    surprise = np.log1p(share / usual[feature])
    has_row = row_of[record] >= 0
    starts = np.searchsorted(feature[has_row], np.arange(n_features + 1)).astype(np.int64)
    return FeatureLists(starts, row_of[record[has_row]], share[has_row], surprise[has_row])


def _own_before(evaluation: Evaluation[BoxTarget], earlier: Earlier, rng: np.random.Generator) -> Integers:
    release, linkage = earlier
    if evaluation.label == "control":
        return rng.integers(0, release.n_records, len(evaluation.victims))
    place = {name: record for record, name in enumerate(release.trajectory_ids)}
    record_of = {
        uid: place.get(name, -1) for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)
    }
    ids = evaluation.people.ids
    return np.array(
        [record_of.get(ids[victim], -1) for victim in evaluation.victims.tolist()], dtype=np.int64
    )


def _on_grid_of(evaluation: Evaluation[BoxTarget], release: Release) -> BoxTarget:
    """The release on the grid of the evaluation; MisuseError when they have no common places."""
    grid, crs = evaluation.target.grid, evaluation.people.crs
    boxes = release.as_boxes(grid)
    if boxes.snapped_grid() != grid:
        raise MisuseError("the two releases have other cells or slots, so that their boxes cannot be joined")
    target = BoxTarget.of_release(boxes)
    if release.crs == crs:
        return target
    if release.crs is None or crs is None:
        raise MisuseError("one of the two releases is in local meters, so that places cannot be joined")
    corners = target.boxes.astype(np.int64)
    for x, y, shift in ((2, 3, 0), (4, 5, -1)):
        middle_x_m, middle_y_m = (
            np.asarray((corners[:, axis] + shift + 0.5) * grid.cell_m, dtype=np.float64) for axis in (x, y)
        )
        moved_m = transform(release.crs, crs, middle_x_m, middle_y_m)
        for axis, column in zip((x, y), moved_m, strict=True):
            corners[:, axis] = np.floor(column / grid.cell_m).astype(np.int64) - shift
    for low, high in ((2, 4), (3, 5)):
        corners[:, high] = np.maximum(corners[:, high], corners[:, low] + 1)
    return BoxTarget(offsets=target.offsets, boxes=corners, grid=grid)
