"""Linkages that are as likely as the true one, given what a release shows."""

from dataclasses import replace

import numpy as np

import shoal
from shoal.model.release import Linkage, Release


def classes_of(original: shoal.Trajectories, release: Release, linkage: Linkage) -> list[list[int]]:
    """The positions in the linkage of the members of each class, by what their records hold."""
    row = {name: r for r, name in enumerate(release.trajectory_ids)}
    found: dict[bytes, list[int]] = {}
    for place, name in enumerate(linkage.trajectory_ids):
        boxes = np.stack(release.record(row[name]).columns())
        found.setdefault(boxes.tobytes(), []).append(place)
    return list(found.values())


def exchanged(linkage: Linkage, classes: list[list[int]], rng: np.random.Generator) -> Linkage:
    """Another linkage that is as likely: members of each class with each other's records."""
    names = list(linkage.trajectory_ids)
    for members in classes:
        for place, other in zip(members, rng.permutation(members).tolist(), strict=True):
            names[place] = linkage.trajectory_ids[other]
    return replace(linkage, trajectory_ids=tuple(names))
