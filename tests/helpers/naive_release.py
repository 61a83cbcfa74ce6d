"""A tiny naive anonymizer, obvious enough to be sound by inspection.

The verifier's tests damage what it makes.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.model.claims import Claim, KAnonymity
from shoal.model.grid import Grid
from shoal.model.intake import Intake
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.release_folder.tables import corner_places
from shoal.runtime.arrays import Floats
from shoal.runtime.randomness import Randomness

Sample = tuple[int, int, int]
PLANE = "+proj=laea +lat_0=37.8 +lon_0=-122.4 +datum=WGS84 +units=m +no_defs"  # where a city may lie


def stating(claim: Claim, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """What a release says of its method, without the method."""
    return SimpleNamespace(
        claim=lambda: claim, about=SimpleNamespace(name=name), parameters=lambda: dict(parameters or {})
    )


def hull(samples: Sequence[Sample]) -> tuple[int, int, int, int, int, int]:
    """The smallest box over the slots and cells of these samples (t, x, y)."""
    t, x, y = zip(*samples, strict=True)
    return min(t), max(t) + 1, min(x), min(y), max(x) + 1, max(y) + 1


def boxes_from(rows: Sequence[Sequence[int]]) -> Boxes:
    """Boxes from rows of their six bounds."""
    return Boxes(
        **dict(zip(BOX_COLUMNS, np.array(rows, dtype=np.int64).reshape(-1, 6).T.copy(), strict=True))
    )


def samples_of(original: Trajectories, subject: int) -> list[Sample]:
    t, x, y = original.samples_of(subject)
    return list(zip(t.tolist(), x.tolist(), y.tolist(), strict=True))


def disjoint_hulls(original: Trajectories, members: Sequence[int], n_boxes: int) -> Boxes:
    """At most ``n_boxes`` boxes over the members' samples, cut where everybody has one and time moves on."""
    waiting = sorted((*sample, member) for member in members for sample in samples_of(original, member))
    runs: list[list[tuple[int, int, int, int]]] = [[]]
    for here, following in zip(waiting, [*waiting[1:], None], strict=True):
        runs[-1].append(here)
        complete = {each[3] for each in runs[-1]} == set(members)
        if complete and following and following[0] > here[0] and len(runs) < n_boxes:
            runs.append([])
    if {each[3] for each in runs[-1]} != set(members) and len(runs) > 1:
        runs[-2:] = [runs[-2] + runs[-1]]
    return boxes_from([hull([each[:3] for each in run]) for run in runs])


def naive_release(
    original: Trajectories,
    *,
    k: int = 2,
    n_boxes: int = 3,
    suppressed: Sequence[int] = (),
    rng: Randomness | None = None,
) -> tuple[Release, Linkage]:
    """Subjects in classes of k in the order of their ids, the rest in the last; without ``suppressed``."""
    kept = [subject for subject in range(original.n_subjects) if subject not in suppressed]
    starts = list(range(0, max(len(kept) - k + 1, 1), k))
    groups = [kept[start:end] for start, end in zip(starts, [*starts[1:], len(kept)], strict=True)]
    crowds = [
        EquivalenceClass(members=np.array(group), boxes=disjoint_hulls(original, group, n_boxes))
        for group in groups
    ]
    return assemble(
        original,
        crowds,
        stating(KAnonymity(k=k), "naive", {"k": k, "leftover": "merge"}),
        rng or Randomness.from_system(),
    )


def small_city(
    n_subjects: int = 12, n_samples: int = 9, *, crs: str | None = None, seed: int = 1
) -> Trajectories:
    """People with ids like ``caller-0007``, in an input that is neither in their order nor its reverse."""
    draw = np.random.Generator(np.random.PCG64(seed))
    ids = np.repeat([f"caller-{number:04d}" for number in draw.permutation(n_subjects)], n_samples)
    size = n_subjects * n_samples
    return Trajectories.from_rows(
        ids.tolist(),
        27_000_000 + draw.integers(0, 500, size),
        draw.integers(-60, 60, size),
        draw.integers(-60, 60, size),
        grid=Grid(),
        crs=crs,
        intake=Intake(rows_read=size, dropped={"latitude outside -90..90": 2}),
    )


def rings_of(boxes: Boxes, cell_m: float, crs: str) -> Floats:
    """[m, 5, 2] longitude and latitude of each box's closed ring, counterclockwise from the lower left."""
    places, at = corner_places(boxes, cell_m, crs)
    return places[at][:, [0, 1, 2, 3, 0]]
