"""What a run drew for each swap set: permutations (SwapLocations) or places (ReachLocations)."""

from dataclasses import dataclass

import numpy as np

from shoal.model.release import Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class Draws:
    """N draws of size c, in order."""

    c: int
    by_place: Integers  # int64 [n, c or 1], the place in its set where each point ended
    by_person: Integers  # the same, by trajectory
    group: Integers  # [n], the cluster or leading trajectory
    t_s: Floats  # [n], mean time of the set, which no order in a trace can change

    @property
    def permutes(self) -> bool:
        """Whether each draw is a permutation, or one choice of c."""
        return bool(self.by_place.shape[1] > 1)

    def __len__(self) -> int:
        return len(self.group)


def read_draws(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace, *, times_stay: bool
) -> list[Draws]:
    """The draws of a run, by size."""
    if times_stay:
        return read_choices(original, trace)
    return read_permutations(original, release, subject_of, trace)


def read_permutations(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace
) -> list[Draws]:
    """The draws of SwapLocations, without sets that have a point of an unknown holder."""
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    holder_of = np.full(original.n_samples, -1, dtype=np.int64)
    holder_of[trace.place_from] = np.repeat(subject_of, np.diff(release.offsets))
    draws = []
    for c, _, all_rows in sets_by_size(trace):
        rows = all_rows[(holder_of[all_rows] >= 0).all(axis=1)]
        gave, got = owner[rows], holder_of[rows]
        by_owner = np.argsort(gave, axis=1)  # places in the set, ordered by trajectory
        rank_of_holder = np.argsort(np.argsort(got, axis=1), axis=1)
        draws.append(
            Draws(
                c=c,
                by_place=np.take_along_axis(by_owner, rank_of_holder, axis=1),
                by_person=np.take_along_axis(rank_of_holder, by_owner, axis=1),
                group=number_clusters(np.take_along_axis(gave, by_owner, axis=1)),
                t_s=original.t[rows].mean(axis=1),
            )
        )
    return draws


def read_choices(original: Trajectories, trace: Trace) -> list[Draws]:
    """The draws of ReachLocations: the place in its set of each leading point that is published."""
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    leads = trace.time_from == trace.leaders[trace.swap_set]
    took = np.full(trace.n_sets, -1, dtype=np.int64)
    took[trace.swap_set[leads]] = trace.place_from[leads]
    draws = []
    for c, sets, all_rows in sets_by_size(trace):
        rows, place = all_rows[took[sets] >= 0], took[sets][took[sets] >= 0]
        choice = (rows == place[:, None]).argmax(axis=1)[:, None]
        draws.append(
            Draws(
                c=c,
                by_place=choice,
                by_person=choice,
                group=owner[rows[:, 0]],
                t_s=original.t[rows].mean(axis=1),
            )
        )
    return draws


def number_clusters(members: Integers) -> Integers:
    """int64 [n]: equal for sets of the same trajectories. members: [n, c], ascending."""
    return np.unique(members, axis=0, return_inverse=True)[1].ravel()


def sets_by_size(trace: Trace) -> list[tuple[int, Integers, Integers]]:
    """Each size c, the sets of it, and their rows [n, c]."""
    sizes = np.diff(trace.set_offsets)
    groups = ((c, np.flatnonzero(sizes == c)) for c in np.unique(sizes).tolist())
    return [(c, sets, trace.set_rows[trace.set_offsets[sets][:, None] + np.arange(c)]) for c, sets in groups]
