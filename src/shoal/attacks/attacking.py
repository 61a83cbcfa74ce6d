"""Run adversaries against raw data, release and control, with the same people."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Earlier, Evaluations, people_like, victims_of
from shoal.attacks.knowledge import Knowledge, default_knowledge, parse_knowledge
from shoal.attacks.place_lists import on_streets
from shoal.attacks.rate import AttackResult, Rate, TargetName
from shoal.errors import InputError, MisuseError
from shoal.messages import say
from shoal.model.argument_checks import (
    require_linkage,
    require_method_inputs,
    require_release,
    require_trajectories,
)
from shoal.model.linkage_checks import require_linked_records
from shoal.model.places import PublicPlaces
from shoal.model.release import Linkage, Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

TARGETS: Final[tuple[TargetName, ...]] = ("raw", "release", "control")


@typed
@dataclass(frozen=True, eq=False, kw_only=True)
class AttackScope:
    """Whom an attack looks for, and on which targets.

    Parameters
    ----------
    control
        People who were never in the release, on the same grid. None = the people that the release suppressed.
    targets
        The wanted ones of ``raw``, ``release`` and ``control``.
    earlier
        An earlier release of the same people, and its linkage, for ``series``.
    like
        The pseudonym of a record: only people whose records equal it are victims. None = all people.
    places
        A public list of the places where people can be, for readers of boxes. None = the places of the raw
        data if they were read with such a list; else readers learn one from the sides of the boxes.
    streets
        A public map of the streets, for readers of boxes where no list of places is known.
    """

    control: Trajectories | None = None
    targets: Collection[TargetName] = TARGETS
    earlier: Earlier | None = None
    like: str | None = None
    places: PublicPlaces | None = None
    streets: StreetGraph | None = None


LEAST_ON_STREETS: Final = 0.5  # of the samples, at least
EVERYBODY: Final = AttackScope()
NO_CONTROL: Final = say(
    "attack.no_control",
    "no control group: everybody of the raw data is in the release; give --control, or hold people out "
    "before publishing",
)


@typed
def attack(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    *,
    rng: Randomness | None = None,
    knowledge: Sequence[str] | None = None,
    tries: int = 1000,
    scope: AttackScope = EVERYBODY,
    run: Run | None = None,
) -> AttackResult:
    """Measure how often adversaries are right: on the raw data, on the release, and about people outside it.

    Parameters
    ----------
    original
        The raw data: on the release's grid, or as given for a release of points, which adversaries of boxes
        meet on a grid of 100 m and 60 s.
    release, linkage
        The release to attack, and who became which record. None for both: the raw data alone.
    rng
        Draws victims, knowledge of them, and guesses; None = the operating system's, new at each call.
    knowledge
        The adversaries' knowledge, as after ``--knowledge``: ``points:4``. None = a selection by the kind of
        release and its claim. Notes say which of several this data does not allow.
    tries
        Victims for each attack, the same on every target: all people, or this many drawn at random.
    scope
        A control group, the wanted targets, an earlier release, or the record whose people are victims.
    run
        Progress and threads; local and silent by default.

    Returns
    -------
    AttackResult
        The rates, with the adversary's knowledge and behavior, a 95 % interval and the rate of guessing.

    Raises
    ------
    InputError
        When the parts do not belong together.
    MisuseError
        For knowledge that does not exist, if this data allows none of it, or fewer tries than one.

    Examples
    --------
    >>> import shoal
    >>> from shoal.attacks import attack
    >>> calls = shoal.read(shoal.synthesize(n_subjects=30, days=2, seed=1))
    >>> release, linkage = shoal.Glove(k=3).anonymize(calls, shoal.Randomness.from_system())
    >>> result = attack(calls, release, linkage, knowledge=["points:4"], rng=shoal.Randomness.from_system())
    >>> rates = {(rate.name, rate.target): rate.rate for rate in result.rates}
    >>> rates["unicity", "release"], rates["linkage", "release"] <= 1 / 3
    (0.0, True)
    """
    rng = Randomness.from_system() if rng is None else rng
    prepared = prepare(original, release, linkage, rng, tries=tries, scope=scope, run=run)
    listed = original.sensitive is not None
    usual = default_knowledge(release, series=scope.earlier is not None, sensitive=listed)
    texts = usual if knowledge is None else knowledge
    requests = [parse_knowledge(text) for text in texts]
    for request in requests:
        if not request.adversary.takes_boxes and original.grid is not None:
            raise MisuseError(
                f"{request.text} is knowledge of points as they were given, and what is attacked holds "
                "boxes; leave it out"
            )
    result = prepared.rates_of(requests, forgives=lambda label: label == "control" or len(requests) > 1)
    if knowledge and not result.rates:
        raise MisuseError("; ".join(result.notes))
    return result


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedAttack:
    """The victims on every target, and the seed of knowledge about them."""

    evaluations: Evaluations
    seed: int
    notes: tuple[str, ...]

    def draws(self) -> np.random.Generator:
        """A generator at its start: every target meets the same knowledge."""
        return np.random.default_rng(self.seed)

    def rates_of(
        self, requests: Sequence[Knowledge], *, forgives: Callable[[TargetName], bool]
    ) -> AttackResult:
        """The rates of all requests, and notes on those that a target does not allow, if it forgives them."""
        rates: list[Rate] = []
        notes = list(self.notes)
        for request, on_targets in zip(requests, self.play(requests, forgives=forgives), strict=True):
            unplayed: dict[str, list[str]] = {}
            for label, outcome in on_targets.items():
                if isinstance(outcome, MisuseError):
                    unplayed.setdefault(outcome.cli_message, []).append(label)
                else:
                    rates += [replace(rate, asked=request.text) for rate in outcome]
            notes += [
                f"{request.text} was not played against {', '.join(labels)}: {reason}"
                for reason, labels in unplayed.items()
            ]
        return AttackResult(rates=tuple(rates), notes=tuple(notes))

    def play(
        self, requests: Sequence[Knowledge], *, forgives: Callable[[TargetName], bool] = lambda _: True
    ) -> list[dict[TargetName, list[Rate] | MisuseError]]:
        """The rates of each request on each target, or why it was not evaluated.

        One target at a time bounds memory. forgives: report a request that a target does not allow.
        """
        played: list[dict[TargetName, list[Rate] | MisuseError]] = [{} for _ in requests]
        for boxes in (False, True):
            places = [
                place for place, request in enumerate(requests) if request.adversary.takes_boxes == boxes
            ]
            places.sort(key=lambda place: requests[place].adversary.asks_places)
            evaluations = self.evaluations.one_by_one(boxes=boxes) if places else iter(())
            for evaluation in evaluations:
                for place in places:
                    try:
                        rates = requests[place].rates_on(evaluation, self.draws())
                    except MisuseError as error:
                        if not forgives(evaluation.label):
                            raise
                        # its traceback would keep the target
                        played[place][evaluation.label] = error.with_traceback(None)
                    else:
                        played[place][evaluation.label] = rates
                    release_idle_memory()
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
    scope: AttackScope = EVERYBODY,
    run: Run | None = None,
) -> PreparedAttack:
    """Draw the victims; parameters as of ``attack``."""
    require_method_inputs(original, rng)
    if release is not None:
        require_release(release)
    require_linkage(linkage)
    if tries < 1:
        raise MisuseError(f"tries = {tries} measures nothing; choose at least 1")
    if release is not None and linkage is None:
        raise MisuseError("attacking a release needs its linkage, to know who was right; give --linkage")
    if scope.control is not None:
        require_trajectories(scope.control)
    places = places_known(original) if scope.places is None else scope.places.on_plane(original.crs)
    streets = None
    boxes = release is not None and release.kind == "boxes"
    if boxes and places is None and scope.streets is not None:
        streets = scope.streets.on_plane(original.crs)
        if on_streets(original, streets) < LEAST_ON_STREETS:
            raise InputError(
                "most samples are in no cell of these streets: they are of another region or in another "
                "system; give the streets of the data (--streets-nodes, --streets-edges)"
            )
    generator = rng.generator()
    candidates = None if scope.like is None else people_like(original, release, linkage, scope.like)
    victims = victims_of(original, release, linkage, tries, scope.control, generator, candidates)
    nobody_outside = "control" in scope.targets and release is not None and len(victims) < len(TARGETS)
    return PreparedAttack(
        evaluations=Evaluations(
            original=original,
            release=release,
            victims=[group for group in victims if group.label in scope.targets],
            run=run or Run(),
            records=np.arange(original.n_subjects)
            if release is None or linkage is None
            else require_linked_records(original, release, linkage),
            outside=next((group for group in victims if group.label == "control"), None),
            earlier=scope.earlier,
            places=places,
            streets=streets,
        ),
        seed=int(generator.integers(0, 2**63)),
        notes=(NO_CONTROL,) if nobody_outside else (),
    )


def places_known(original: Trajectories) -> PublicPlaces | None:
    """The list that adversaries have, on the plane of the data; None where it was read without one."""
    if original.places is not None:
        return original.places
    if original.grid is None or original.intake.reading.cells is None:
        return None
    cells = np.unique(np.column_stack([original.x, original.y]), axis=0)
    x, y = (cells.T + 0.5) * original.grid.cell_m
    return PublicPlaces(x=x, y=y)
