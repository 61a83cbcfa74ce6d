"""The attack: every adversary against raw data, release and control, with the same people and knowledge."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Earlier, Evaluations
from shoal.attacks.knowledge import Knowledge, default_knowledge, parse_knowledge
from shoal.attacks.rate import Attacked, Rate, TargetName
from shoal.attacks.victims import people_like, victims_of
from shoal.errors import MisuseError
from shoal.model.argument_checks import (
    require_linkage,
    require_method_inputs,
    require_release,
    require_trajectories,
)
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

TARGETS: Final[tuple[TargetName, ...]] = ("raw", "release", "control")


def attack(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    *,
    rng: Randomness,
    knowledge: Sequence[str] | None = None,
    tries: int = 1000,
    control: Trajectories | None = None,
    targets: Collection[TargetName] = TARGETS,
    earlier: Earlier | None = None,
    like: str | None = None,
    run: Run | None = None,
) -> Attacked:
    """Measure how often adversaries win, on the raw data, on the release, and with people who are not in it.

    Parameters
    ----------
    original
        The raw data: on the release's grid, or as given for a release of points, which adversaries of boxes
        meet on a grid of 100 m and 60 s.
    release, linkage
        What is attacked, and who became which record. None for both: the raw data alone.
    rng
        Draws victims, what is known of them, and guesses.
    knowledge
        What adversaries know, each as after ``--knowledge``: ``points:4``. None = a selection by the kind of
        release and its claim, of which what this data does not allow is noted.
    tries
        Victims for each attack, the same ones on every target: everybody, or so many drawn at random.
    control
        People who were never in the release, on the same grid. None = those whom the release suppressed.
    targets
        Which of ``raw``, ``release`` and ``control`` are wanted.
    earlier
        An earlier release of the same people, and its linkage, for ``series``.
    like
        The pseudonym of a record: only the people whose records equal it are victims. None = everybody.
    run
        Progress and threads; local and silent by default.

    Returns
    -------
    Attacked
        The rates, with what the adversary knows and does, a 95 % interval and the rate of guessing.

    Raises
    ------
    InputError
        When the parts do not belong together.
    MisuseError
        For knowledge that does not exist, that this data does not allow, or fewer tries than one.

    Examples
    --------
    >>> import shoal
    >>> from shoal.attacks import attack
    >>> calls = shoal.read(shoal.synthesize(n_subjects=30, days=2, seed=1))
    >>> release, linkage = shoal.Glove(k=3).anonymize(calls, shoal.Randomness.from_system())
    >>> found = attack(calls, release, linkage, knowledge=["points:4"], rng=shoal.Randomness.from_system())
    >>> rates = {(rate.name, rate.target): rate.rate for rate in found.rates}
    >>> rates["unicity", "release"], rates["linkage", "release"] <= 1 / 3
    (0.0, True)
    """
    if isinstance(knowledge, str):
        raise MisuseError(f"knowledge is a list; write knowledge=['{knowledge}']")
    prepared = prepare(
        original,
        release,
        linkage,
        rng,
        tries=tries,
        control=control,
        targets=targets,
        run=run,
        earlier=earlier,
        among=None if like is None else people_like(original, release, linkage, like),
    )
    texts = default_knowledge(release, series=earlier is not None) if knowledge is None else knowledge
    asked = [parse_knowledge(text) for text in texts]
    for one in asked:
        _require_points(one, original)
    played = prepared.play(asked, forgives=lambda label: label == "control" or knowledge is None)
    rates: list[Rate] = []
    notes = list(prepared.notes)
    for one, on_targets in zip(asked, played, strict=True):
        for label, found in on_targets.items():
            if isinstance(found, MisuseError):
                notes.append(f"{one.text} was not played against {label}: {found}")
            else:
                rates += [replace(rate, asked=one.text) for rate in found]
    return Attacked(rates=tuple(rates), notes=tuple(notes))


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """Everything that attacks share: the victims on every target, and the seed of what is known of them."""

    evaluations: Evaluations
    seed: int
    notes: tuple[str, ...]

    def draws(self) -> np.random.Generator:
        """A generator at its start, so that the same knowledge is drawn on every target."""
        return np.random.default_rng(self.seed)

    def play(
        self, asked: Sequence[Knowledge], *, forgives: Callable[[TargetName], bool] = lambda _: True
    ) -> list[dict[TargetName, list[Rate] | MisuseError]]:
        """What each knowledge attains on each target, or why it was not played.

        All play on one target before the next one is made, whose records and indexes then take the place of
        its own. forgives: whether knowledge that a target does not allow is told, and no error.
        """
        played: list[dict[TargetName, list[Rate] | MisuseError]] = [{} for _ in asked]
        for boxes in (False, True):
            those = [place for place, one in enumerate(asked) if one.adversary.takes_boxes == boxes]
            those.sort(key=lambda place: asked[place].adversary.asks_places)
            evaluations = self.evaluations.one_by_one(boxes=boxes) if those else iter(())
            for evaluation in evaluations:
                for place in those:
                    try:
                        found = asked[place].rates_on(evaluation, self.draws())
                    except MisuseError as error:
                        if not forgives(evaluation.label):
                            raise
                        # its traceback would keep the target
                        played[place][evaluation.label] = error.with_traceback(None)
                    else:
                        played[place][evaluation.label] = found
                del evaluation
            release_idle_memory()
        return played


def prepare(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    rng: Randomness,
    *,
    tries: int,
    control: Trajectories | None,
    targets: Collection[TargetName],
    run: Run | None,
    earlier: Earlier | None = None,
    among: Integers | None = None,
) -> Prepared:
    """Draw the victims; parameters and errors are those of ``attack``.

    among: positions of the people who can be victims; None = everybody.
    """
    require_method_inputs(original, rng)
    if release is not None:
        require_release(release)
    require_linkage(linkage)
    if tries < 1:
        raise MisuseError(f"tries = {tries} measures nothing; choose at least 1")
    if release is not None and linkage is None:
        raise MisuseError("attacking a release needs its linkage, to know who was right; give --linkage")
    if control is not None:
        require_trajectories(control)
    generator = rng.generator()
    victims = victims_of(original, release, linkage, tries, control, generator, among)
    nobody_outside = "control" in targets and release is not None and len(victims) < len(TARGETS)
    return Prepared(
        evaluations=Evaluations(
            original=original,
            release=release,
            victims=[group for group in victims if group.label in targets],
            run=run or Run(),
            records=np.arange(original.n_subjects)
            if release is None or linkage is None
            else require_linked_records(original, release, linkage),
            outside=next((group for group in victims if group.label == "control"), None),
            earlier=earlier,
        ),
        seed=int(generator.integers(0, 2**63)),
        notes=(
            "no control group: everybody of the raw data is in the release; give --control, or hold people "
            "out before publishing",
        )
        if nobody_outside
        else (),
    )


def _require_points(knowledge: Knowledge, original: Trajectories) -> None:
    """Raises MisuseError when an attack on points as given would meet boxes."""
    if not knowledge.adversary.takes_boxes and original.grid is not None:
        raise MisuseError(
            f"{knowledge.text} is knowledge of points as they were given, and what is attacked holds boxes; "
            "leave it out"
        )
