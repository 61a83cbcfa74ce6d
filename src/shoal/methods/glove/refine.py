"""Improve classes by a local search after the greedy loop.

It lowers the extents of samples' boxes in place and in time, each in units of its mean before; the same
costs cut samples into boxes. Neighborhoods, others in each round, are searched on all threads. Few people
are one neighborhood, in one round. Deterministic.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.regrouping import Classes, Regrouping, regroup
from shoal.kernels.weighed_runs import ROOM, Tracks, Weights, weighed_partition
from shoal.measures.least_extents import widest_cells
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.k_merge import merge_members, samples_by_time
from shoal.model.neighborhoods import bisect_rows, order_by_longest_axis
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of, read_only
from shoal.runtime.checkpoint import Arrays
from shoal.runtime.run import Run

_TOGETHER: Final = 80  # people in a neighborhood, about
_FEWEST, _MOST = 8, 16  # classes in a neighborhood; with more at k = 2 the time grows faster than the gain
_WORK: Final = 64_000_000  # up to this many pairs of a person and a sample, all are one neighborhood
_SAMPLES_A_PAIR: Final = 50  # a pair of people counts as this many of these, since all of them are stored
_TURN: Final = 0.618 * np.pi / 2  # of the axes along which neighborhoods are cut, from round to round
_ACTIVITY: Final = 0.5  # weight of that axis next to those of place
_COSTS_A_PERSON: Final = 10  # that may be computed in each round asked for
_PLACE: Final = 4.0  # what a box as wide as the mean costs, when one as long as the mean costs 1
_CLOSE_M: Final = 2500.0  # dx + dy where the ramp ends
_FAR: Final = 4.0  # what it costs there, times the square of the share of samples in wider boxes
_FINEST: Final = 100_000  # of costs, in whole numbers
_LABEL: Final = "refining classes"


class _Plan(NamedTuple):
    k: int
    weights: Weights
    rounds: int
    together: int  # classes in a neighborhood
    costs_a_person: int  # that may be computed in a round


def refine_classes(
    original: Trajectories,
    start: Sequence[EquivalenceClass],
    k: int,
    rounds: int,
    run: Run,
    *,
    weights: Weights | None = None,
) -> list[EquivalenceClass]:
    """Classes of at least k, whose samples have smaller extents."""
    # start: boxes disjoint in time. weights: default to those of ``start``, with a ramp. The run's checkpoint
    # stores the state after each round.
    if weights is None:
        weights = weights_of(original, start, ramp=True)
    members = [crowd.members for crowd in start]
    n = original.n_subjects
    if n * (original.n_samples + _SAMPLES_A_PAIR * n) <= _WORK:
        # a further round would find the same classes
        plan = _Plan(k, weights, min(rounds, 1), len(members), _COSTS_A_PERSON * rounds)
    else:
        together = min(max(_TOGETHER // k, _FEWEST), _MOST)
        plan = _Plan(k, weights, rounds, together, _COSTS_A_PERSON)
    for turn in range(plan.rounds):
        members = _refine_once(original, members, plan, turn, run)
    return [
        EquivalenceClass(members=people, boxes=merge_by_weights(original, people, weights)[0])
        for people in members
    ]


def halve_people(original: Trajectories, k: int, run: Run) -> list[EquivalenceClass]:
    """Classes of about k people, split by place and activity, with k-merge's boxes."""
    everybody = np.arange(original.n_subjects)
    around = _class_positions(original, np.split(everybody, everybody[1:]), 0)
    parts = bisect_rows(everybody, order_by_longest_axis(around), parts=len(everybody) // k)

    def form(people: Integers) -> EquivalenceClass:
        return EquivalenceClass(members=people, boxes=merge_members(original, people)[0])

    return list(run.map(form, parts, label="forming classes"))


def weights_of(original: Trajectories, classes: Sequence[EquivalenceClass], *, ramp: bool) -> Weights:
    """Costs of extents: the root of dx + dy, and the duration, in units of their means."""
    # ramp: wider boxes also cost more up to 2.5 km, the more so the fewer samples these boxes hold within it.
    # Means and shares are over raw samples. lab/notes/0106 gives the reason.
    close = _CLOSE_M / original.snapped_grid().cell_m
    cells = slots = samples = far = 0
    for crowd in classes:
        boxes = crowd.boxes.sorted()
        t = samples_by_time(original, crowd.members)[0]
        n_samples = np.searchsorted(t, boxes.t_end) - np.searchsorted(t, boxes.t_start)
        sides = boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
        samples += int(n_samples.sum())
        cells += int(n_samples @ sides)
        slots += int(n_samples @ (boxes.t_end - boxes.t_start))
        far += int(n_samples[sides > close].sum())
    sides = np.arange(widest_cells(original) + 1)
    place = _PLACE * np.sqrt(sides * samples / cells)
    if ramp:
        place += _FAR * (far / samples) * (far / samples) * np.minimum(1.0, sides / close)
    return Weights(
        place=np.rint(_FINEST * place).astype(np.int64), per_slot=max(1, round(_FINEST * samples / slots))
    )


def merge_by_weights(original: Trajectories, members: Integers, weights: Weights) -> tuple[Boxes, int]:
    """The boxes of the cheapest partition, and its cost."""
    t, x, y, owner = samples_by_time(original, members)
    first, cost = weighed_partition(t, x, y, owner, len(members), weights)
    return Boxes.of_samples(t, x, y).hulls(first), int(cost)


def _refine_once(
    original: Trajectories, members: Sequence[Integers], plan: _Plan, turn: int, run: Run
) -> list[Integers]:
    def search(part: Integers) -> list[Integers]:
        classes = [members[c] for c in part.tolist()]
        allowance = plan.costs_a_person * sum(map(len, classes))
        return search_neighborhood(original, classes, plan.k, plan.weights, allowance)

    def make() -> Arrays:
        around = _class_positions(original, members, turn)
        parts = list(bisect_rows(np.arange(len(members)), order_by_longest_axis(around), most=plan.together))
        groups: list[Integers] = []
        run.progress(_LABEL, turn * len(parts), plan.rounds * len(parts))
        for done, part_groups in enumerate(run.map(search, parts), start=1):
            groups += part_groups
            run.progress(_LABEL, turn * len(parts) + done, plan.rounds * len(parts))
        return {"members": np.concatenate(groups), "sizes": np.array([len(group) for group in groups])}

    stored = run.load_or_make(f"refined-{turn + 1:02d}", make)
    return np.split(stored["members"], np.cumsum(stored["sizes"])[:-1])


def _class_positions(original: Trajectories, members: Sequence[Integers], turn: int) -> Floats:
    starts = original.offsets[:-1]
    middles = [np.add.reduceat(column, starts) / original.lengths for column in (original.x, original.y)]
    people = np.stack([*middles, np.log2(original.lengths)], axis=1)
    of_class = np.array([people[class_members].mean(axis=0) for class_members in members])
    of_class /= np.maximum(np.ptp(of_class, axis=0), 1e-9)
    east, north, active = of_class.T
    cos, sin = np.cos(turn * _TURN), np.sin(turn * _TURN)
    return np.column_stack([east * cos - north * sin, east * sin + north * cos, active * _ACTIVITY])


def search_neighborhood(
    original: Trajectories, members: Sequence[Integers], k: int, weights: Weights, allowance: int
) -> list[Integers]:
    """Classes after a search; allowance: class costs that may be computed."""
    people = np.sort(np.concatenate(members))
    lengths = original.lengths[people]
    offsets = offsets_of(lengths)
    rows = np.arange(offsets[-1]) + np.repeat(original.offsets[people] - offsets[:-1], lengths)
    tracks = Tracks(*map(read_only, (offsets, original.t[rows], original.x[rows], original.y[rows])))
    sizes = np.array([len(class_members) for class_members in members])
    most = max(2 * k - 1, int(sizes.max())) + 1
    count = max(len(members), len(people) // k)
    classes = Classes(
        members=np.zeros((count, most), dtype=np.int64),
        size=np.zeros(count, dtype=np.int64),
        of=np.zeros(len(people), dtype=np.int64),
        cost=np.zeros(count, dtype=np.int64),
        changed=np.zeros(count, dtype=np.int64),
    )
    for c, class_members in enumerate(members):
        local = np.searchsorted(people, class_members)
        classes.members[c, : len(class_members)], classes.of[local] = local, c
        classes.size[c] = len(class_members)
    longest = int(np.sort(lengths)[-most:].sum())
    seats = len(people) + count
    search = Regrouping(
        tracks=tracks,
        weights=weights,
        k=k,
        room=np.empty((ROOM, longest + 1), dtype=np.int64),
        known=np.zeros(seats, dtype=np.bool_),
        rest=np.zeros(seats, dtype=np.int64),
        added=np.zeros((len(people), seats), dtype=np.int64),
    )
    regroup(search, classes, allowance)
    return [np.sort(people[classes.members[c, : classes.size[c]]]) for c in range(count) if classes.size[c]]
