"""Classes chosen better than greedily: a local search that starts where the greedy loop ends.

What it lowers is what a reader sees: the extents of raw samples' boxes in place and in time, each counted in
units of its mean before the refinement. The same costs decide where a class's samples are cut into boxes.

Neighborhoods of classes are searched one by one, on all threads. Each round cuts the population into other
neighborhoods. Nothing is drawn by chance: who is in which class follows from raw data and parameters alone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.kernels.regrouping import Classes, CostMemo, Regrouping, regroup
from shoal.kernels.weighed_runs import ROOM, Tracks, Weights, weighed_partition
from shoal.measures.least_extents import squares_of, widest_cells
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.k_merge import joined, merge_members
from shoal.model.hulls import hulls_of
from shoal.model.neighborhoods import along_longest, bisected
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, fixed
from shoal.runtime.checkpoint import Arrays
from shoal.runtime.run import Run

_TOGETHER: Final = 16  # classes in a neighborhood
_TURN: Final = 0.618 * np.pi / 2  # of the axes along which neighborhoods are cut, from round to round
_ACTIVITY: Final = 0.5  # of that axis beside those of place, all of one length
_COSTS_A_PERSON: Final = 10  # that may be computed in a round
_PLACE: Final = 4.0  # what a box as wide as the mean costs, when one as long as the mean costs 1
_CLOSE_M: Final = 2500.0  # dx + dy where the ramp ends
_FAR: Final = 4.0  # what it costs there, times the square of the share of samples in wider boxes
_FINEST: Final = 100_000  # of costs, in whole numbers
_MARKS_SEED: Final = 0  # of marks that tell groups apart and decide nothing
_LABEL: Final = "refining classes"


def refined(
    original: Trajectories,
    start: Sequence[EquivalenceClass],
    k: int,
    rounds: int,
    run: Run,
    *,
    weights: Weights | None = None,
) -> list[EquivalenceClass]:
    """Classes of at least k of the same people, whose samples have smaller extents.

    start: with boxes that are disjoint in time. weights: those of the start, with a ramp, unless given. What
    is known after each round is kept in the run's checkpoint.
    """
    if weights is None:
        weights = weights_of(original, start, ramp=True)
    members = [each.members for each in start]
    for turn in range(rounds):
        members = _after_round(original, members, k, weights, turn, rounds, run)
    return [
        EquivalenceClass(members=own, boxes=merged_by_weights(original, own, weights)[0]) for own in members
    ]


def halved(original: Trajectories, k: int, run: Run) -> list[EquivalenceClass]:
    """Classes of k or a few more to start from: people in two again and again, by place and activity.

    Each with k-merge's boxes.
    """
    everybody = np.arange(original.n_subjects)
    around = _traits(original, np.split(everybody, everybody[1:]), 0)
    parts = bisected(everybody, along_longest(around), parts=len(everybody) // k)
    return list(
        run.map(
            lambda own: EquivalenceClass(members=own, boxes=merge_members(original, own)[0]),
            parts,
            label="forming classes",
        )
    )


def weights_of(original: Trajectories, classes: Sequence[EquivalenceClass], *, ramp: bool) -> Weights:
    """What extents cost: the root of dx + dy, and the duration, in units of the means of these boxes.

    ramp: whether wider boxes also cost more up to 2.5 km, the more the fewer samples these boxes hold within
    that. Means and shares are over raw samples. docs/decisions/0106 says why.
    """
    close = _CLOSE_M / original.snapped_grid().cell_m
    cells = slots = samples = far = 0
    for each in classes:
        boxes = each.boxes.sorted()
        t = joined(original, each.members)[0]
        held = np.searchsorted(t, boxes.t_end) - np.searchsorted(t, boxes.t_start)
        sides = boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
        samples += int(held.sum())
        cells += int(held @ sides)
        slots += int(held @ (boxes.t_end - boxes.t_start))
        far += int(held[sides > close].sum())
    sides = np.arange(widest_cells(original) + 1)
    place = _PLACE * np.sqrt(sides * samples / cells)
    if ramp:
        place += _FAR * (far / samples) * (far / samples) * np.minimum(1.0, sides / close)
    return Weights(
        place=np.rint(_FINEST * place).astype(np.int64), per_slot=max(1, round(_FINEST * samples / slots))
    )


def merged_by_weights(original: Trajectories, members: Integers, weights: Weights) -> tuple[Boxes, int]:
    """The boxes of the partition of these subjects' samples with the least extents, and its cost."""
    t, x, y, owner = joined(original, members)
    first, cost = weighed_partition(t, x, y, owner, len(members), weights)
    return hulls_of(Boxes.of_samples(t, x, y), first), int(cost)


def _after_round(
    original: Trajectories,
    members: Sequence[Integers],
    k: int,
    weights: Weights,
    turn: int,
    rounds: int,
    run: Run,
) -> list[Integers]:
    """The members of each class after one more round."""

    def make() -> Arrays:
        around = _traits(original, members, turn)
        parts = list(bisected(np.arange(len(members)), along_longest(around), most=_TOGETHER))
        found: list[Integers] = []
        run.progress(_LABEL, turn * len(parts), rounds * len(parts))
        for done, own in enumerate(
            run.map(lambda part: _part(original, members, part, k, weights), parts), start=1
        ):
            found += own
            run.progress(_LABEL, turn * len(parts) + done, rounds * len(parts))
        return {"members": np.concatenate(found), "sizes": np.array([len(own) for own in found])}

    kept = run.kept(f"refined-{turn + 1:02d}", make)
    return np.split(kept["members"], np.cumsum(kept["sizes"])[:-1])


def _traits(original: Trajectories, members: Sequence[Integers], turn: int) -> Floats:
    """[classes, 3]: where each class stands, on axes that turn from round to round, and how active it is."""
    starts = original.offsets[:-1]
    middles = [np.add.reduceat(column, starts) / original.lengths for column in (original.x, original.y)]
    people = np.stack([*middles, np.log2(original.lengths)], axis=1)
    of_class = np.array([people[own].mean(axis=0) for own in members])
    of_class /= np.maximum(np.ptp(of_class, axis=0), 1e-9)
    east, north, active = of_class.T
    cos, sin = np.cos(turn * _TURN), np.sin(turn * _TURN)
    return np.column_stack([east * cos - north * sin, east * sin + north * cos, active * _ACTIVITY])


def _part(
    original: Trajectories, members: Sequence[Integers], part: Integers, k: int, weights: Weights
) -> list[Integers]:
    """The members of each class of one neighborhood after a search among them."""
    own = [members[c] for c in part.tolist()]
    return searched(original, own, k, weights, _COSTS_A_PERSON * sum(map(len, own)))


def searched(
    original: Trajectories, members: Sequence[Integers], k: int, weights: Weights, allowance: int
) -> list[Integers]:
    """These classes after a search among themselves, each ascending; all ways to change them are tried.

    allowance: how many costs of classes may be computed.
    """
    people = np.sort(np.concatenate(members))
    lengths = original.lengths[people]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.arange(offsets[-1]) + np.repeat(original.offsets[people] - offsets[:-1], lengths)
    tracks = Tracks(*map(fixed, (offsets, original.t[rows], original.x[rows], original.y[rows])))
    sizes = np.array([len(own) for own in members])
    most = max(2 * k - 1, int(sizes.max())) + 1
    count = max(len(members), len(people) // k)
    classes = Classes(
        members=np.zeros((count, most), dtype=np.int64),
        size=np.zeros(count, dtype=np.int64),
        of=np.zeros(len(people), dtype=np.int64),
        cost=np.zeros(count, dtype=np.int64),
        saves=np.zeros(len(people), dtype=np.int64),
        exact=np.zeros(len(people), dtype=np.bool_),
        changed=np.zeros(count, dtype=np.int64),
        examined=np.zeros(len(people), dtype=np.int64),
    )
    for c, own in enumerate(members):
        local = np.searchsorted(people, own)
        classes.members[c, : len(own)], classes.size[c], classes.of[local] = local, len(own), c
    longest = int(np.sort(lengths)[-most:].sum())
    places = 1 << (2 * (allowance + 3 * len(people) + 16)).bit_length()  # twice what is computed, or more
    search = Regrouping(
        tracks=tracks,
        squares=squares_of(tracks),
        weights=weights,
        k=k,
        least=np.empty((len(people), len(people)), dtype=np.int64),
        room=np.empty((ROOM, longest + 1), dtype=np.int64),
        memo=CostMemo(
            marks=np.random.default_rng(_MARKS_SEED).integers(1, 1 << 62, len(people)),
            groups=np.zeros(places, dtype=np.int64),
            costs=np.zeros(places, dtype=np.int64),
        ),
    )
    regroup(search, classes, allowance)
    return [np.sort(people[classes.members[c, : classes.size[c]]]) for c in range(count) if classes.size[c]]
