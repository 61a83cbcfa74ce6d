"""Crowds of GLOVE that stay together in a series of releases (docs/series.md)."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.kernels.stretch import box_effort
from shoal.measures.stretch import Caps, samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.glove import Glove
from shoal.methods.hulls import leaves_for, put_on_leaves
from shoal.methods.k_merge import merge_crowds
from shoal.model.argument_checks import require_people
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

NEWCOMER: Final = -1
WAITING: Final = -2
_NEAREST: Final = 32  # crowds whose stretch to a newcomer is computed


def classes_in_series(
    method: Glove, original: Trajectories, crowd_of: Integers, spare: int, run: Run
) -> list[EquivalenceClass]:
    """Classes of the crowds that may appear; newcomers join close ones, or form crowds if they are more.

    crowd_of: [n] the crowd of each person, or NEWCOMER or WAITING, who is left out.
    """
    require_people(original.n_subjects, method.k)
    original = put_on_leaves(original, leaves_for(original, method.hull))
    newcomers = np.flatnonzero(crowd_of == NEWCOMER)
    members = np.flatnonzero(crowd_of >= 0)
    order = members[np.argsort(crowd_of[members], kind="stable")]
    crowds = np.split(order, np.flatnonzero(np.diff(crowd_of[order])) + 1) if len(order) else []
    if len(newcomers) > len(members):
        crowds += _choose_crowds(method, original, newcomers, spare, run)
    elif len(newcomers):
        crowds = _join(method, original, crowds, newcomers, spare, run)
    return method.classes_of(original, [np.sort(crowd) for crowd in crowds], run)


def _choose_crowds(
    method: Glove, original: Trajectories, people: Integers, spare: int, run: Run
) -> list[Integers]:
    if len(people) < method.k:
        return []
    # The search for small boxes is worth its time, as these crowds stay.
    chooser = Glove(
        k=min(method.k + spare, len(people)),
        space_cap_m=method.space_cap_m,
        time_cap_s=method.time_cap_s,
        start=method.start,
        refine=True,
        refine_rounds=max(1, method.refine_rounds),
    )
    return [people[crowd.members] for crowd in chooser.classes(original.keep(people), run)]


def _join(
    method: Glove,
    original: Trajectories,
    crowds: Sequence[Integers],
    newcomers: Integers,
    spare: int,
    run: Run,
) -> list[Integers]:
    # Each joins the closest crowd with a place left by others, so that crowds stay as small as they were;
    # those who fit best choose first.
    caps = Caps(space_cap_m=method.space_cap_m, time_cap_s=method.time_cap_s)
    scale = caps.scale_on(original.snapped_grid())
    samples = [samples_of_boxes(boxes) for boxes in merge_crowds(original, crowds, run)]
    places = _mean_places(original)
    centers = np.array([places[crowd].mean(axis=0) for crowd in crowds])
    room = method.k + spare + 1 - np.array([len(crowd) for crowd in crowds])
    open_crowds = np.flatnonzero(room > 0) if (room > 0).any() else np.arange(len(crowds))

    def efforts(person: int) -> list[tuple[float, int]]:
        alone = samples_of_boxes(Boxes.of_samples(*original.samples_of(person)))
        away = np.square(centers[open_crowds] - places[person]).sum(axis=1)
        near: list[int] = open_crowds[np.argsort(away, kind="stable")[:_NEAREST]].tolist()
        return sorted((box_effort(alone, 1, samples[c], len(crowds[c]), scale, np.inf), c) for c in near)

    ranked = list(run.map(efforts, newcomers.tolist(), label="joining newcomers"))
    joined = [crowd.tolist() for crowd in crowds]
    for place in sorted(range(len(ranked)), key=lambda place: ranked[place]):
        chosen = next((c for _, c in ranked[place] if room[c] > 0), ranked[place][0][1])
        room[chosen] -= 1
        joined[chosen].append(newcomers[place])
    return [np.array(crowd) for crowd in joined]


def _mean_places(original: Trajectories) -> Floats:
    sums = [np.add.reduceat(column, original.offsets[:-1]) for column in (original.x, original.y)]
    return np.stack(sums, axis=1) / original.lengths[:, None]
