"""Who is looked for, on which target, with whose knowledge, and the stages on which adversaries meet them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.attacks.rate import TargetName
from shoal.attacks.target import Scene, Target
from shoal.attacks.target_points import GivenScene, Shown
from shoal.errors import InputError
from shoal.model.linked import records_that_belong
from shoal.model.release import AnyRelease, Linkage, PointRelease
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class Cast:
    """Who is looked for on a target.

    known: whose knowledge; victims: positions in it; own: the record of each victim.
    """

    label: TargetName
    known: Trajectories
    victims: Integers
    own: Integers


def cast_of(
    original: Trajectories,
    release: AnyRelease | None,
    linkage: Linkage | None,
    tries: int,
    control: Trajectories | None,
    rng: np.random.Generator,
) -> list[Cast]:
    """Who is looked for on raw data and, of a release, on it and as its control, where there is anybody for that."""
    everybody = np.arange(original.n_subjects)
    if release is None or linkage is None:
        victims = _some(everybody, tries, rng)
        return [Cast(label="raw", known=original, victims=victims, own=victims)]
    records = records_that_belong(original, release, linkage)
    victims = _some(everybody[records >= 0], tries, rng)
    casts = [
        Cast(label="raw", known=original, victims=victims, own=victims),
        Cast(label="release", known=original, victims=victims, own=records[victims]),
    ]
    outside, strangers = (
        (original, everybody[records < 0]) if control is None else (control, np.arange(control.n_subjects))
    )
    elsewhere = control is not None and (control.grid, control.crs) != (original.grid, original.crs)
    if control is not None and (elsewhere or set(control.ids) & set(linkage.uids)):
        raise InputError(
            "the control group is on another grid or plane, or holds people of the release; give people who "
            "are not in it"
        )
    if len(strangers):
        chosen = _some(strangers, tries, rng)
        casts.append(
            Cast(
                label="control",
                known=outside,
                victims=chosen,
                own=rng.integers(0, release.n_records, len(chosen)),
            )
        )
    return casts


def scenes_of(
    original: Trajectories, on_grid: Trajectories, release: AnyRelease | None, casts: Sequence[Cast], run: Run
) -> list[Scene]:
    """The stages of adversaries of boxes.

    on_grid: the raw data in cells and slots; raises MisuseError when it is not.
    """
    raw = Target.of_trajectories(on_grid)
    boxes = release.as_boxes(on_grid.snapped_grid()) if isinstance(release, PointRelease) else release
    published = raw if boxes is None else Target.of_release(boxes)
    return [
        Scene(
            known=on_grid if cast.known is original else _on_grid(cast.known, on_grid.snapped_grid()),
            target=raw if cast.label == "raw" else published,
            victims=cast.victims,
            own=cast.own,
            label=cast.label,
            run=run,
        )
        for cast in casts
    ]


def given_scenes_of(
    original: Trajectories, release: AnyRelease | None, casts: Sequence[Cast], run: Run
) -> list[GivenScene]:
    """The stages of adversaries of points as given."""
    raw = Shown.of(original)
    published = Shown.of(release) if isinstance(release, PointRelease) else raw
    return [
        GivenScene(
            known=cast.known,
            shown=raw if cast.label == "raw" else published,
            victims=cast.victims,
            own=cast.own,
            label=cast.label,
            run=run,
        )
        for cast in casts
    ]


def _some(subjects: Integers, most: int, rng: np.random.Generator) -> Integers:
    """All of them, or ``most`` at random, ascending."""
    return subjects if len(subjects) <= most else np.sort(rng.choice(subjects, size=most, replace=False))


def _on_grid(people: Trajectories, grid: Grid) -> Trajectories:
    return people.snapped_to(grid) if people.grid is None else people
