"""Who is looked for: the same people in raw data and release, and people outside as a control."""

from dataclasses import dataclass

import numpy as np

from shoal.attacks.rate import TargetName
from shoal.attacks.target import BoxTarget
from shoal.errors import InputError, MisuseError
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class Victims:
    """Who is looked for on one target.

    known: the data that knowledge of them comes from. subjects: int64 [v], positions in it. own: int64 [v],
    the record of each.
    """

    label: TargetName
    known: Trajectories
    subjects: Integers
    own: Integers


def victims_of(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    tries: int,
    control: Trajectories | None,
    rng: np.random.Generator,
    among: Integers | None = None,
) -> list[Victims]:
    """The victims on raw data and, for a release, on it and as its control, if anybody is left for that.

    among: those who can be victims on raw data and release; None = everybody. Raises InputError when the
    parts do not belong together.
    """
    everybody = np.arange(original.n_subjects)
    if release is None or linkage is None:
        subjects = _some(everybody, tries, rng)
        return [Victims(label="raw", known=original, subjects=subjects, own=subjects)]
    records = require_linked_records(original, release, linkage)
    published = everybody[records >= 0]
    subjects = _some(published if among is None else np.intersect1d(published, among), tries, rng)
    found = [
        Victims(label="raw", known=original, subjects=subjects, own=subjects),
        Victims(label="release", known=original, subjects=subjects, own=records[subjects]),
    ]
    if control is None:
        outside, strangers = original, everybody[records < 0]
    else:
        _require_outside(control, original, linkage)
        outside, strangers = control, np.arange(control.n_subjects)
    if len(strangers):
        chosen = _some(strangers, tries, rng)
        own = rng.integers(0, release.n_records, len(chosen))
        found.append(Victims(label="control", known=outside, subjects=chosen, own=own))
    return found


def people_like(
    original: Trajectories, release: Release | None, linkage: Linkage | None, pseudonym: str
) -> Integers:
    """Positions of the people whose records equal the record of this pseudonym, box for box.

    Of a release of points, that of the one person whose record it is. Raises MisuseError without a release,
    and for a pseudonym that it does not hold.
    """
    if release is None or linkage is None or pseudonym not in release.trajectory_ids:
        raise MisuseError("there is no such record in the release; name a trajectory_id of its table")
    records = require_linked_records(original, release, linkage)
    one = release.trajectory_ids.index(pseudonym)
    if release.kind == "points":
        return np.flatnonzero(records == one)
    class_of = BoxTarget.of_release(release).class_of
    return np.flatnonzero((records >= 0) & (class_of[records] == class_of[one]))


def _require_outside(control: Trajectories, original: Trajectories, linkage: Linkage) -> None:
    """Raises InputError for a control group on another grid or plane, or with people of the release."""
    elsewhere = (control.grid, control.crs) != (original.grid, original.crs)
    if elsewhere or set(control.ids) & set(linkage.uids):
        raise InputError(
            "the control group is on another grid or plane, or includes people of the release; give people "
            "who are not in it"
        )


def _some(subjects: Integers, most: int, rng: np.random.Generator) -> Integers:
    """All of them, or ``most`` at random, ascending."""
    return subjects if len(subjects) <= most else np.sort(rng.choice(subjects, size=most, replace=False))
