"""Adversaries: each with what they know, what they do with it, and how often they win (semantics 5).

Knowledge is drawn from raw data; what is attacked is the raw data itself (risk before), a release (risk
after), and a release with the knowledge of people who are not in it (control: what luck, and what everybody's
habits, give). Adversaries of boxes meet points as the cells and slots that hold them; those of points as
given meet no boxes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from shoal.attacks.exact import Exact, attack_exact
from shoal.attacks.home_work import attack_home_work
from shoal.attacks.nearest import attack_nearest
from shoal.attacks.noisy import attack_noisy
from shoal.attacks.places import attack_period, attack_top
from shoal.attacks.points import attack_attribution, attack_points
from shoal.attacks.rate import Rate, TargetName, wilson
from shoal.attacks.target import Scene
from shoal.attacks.target_points import GivenScene
from shoal.attacks.tau_knowledge import attack_tau
from shoal.attacks.victims import Cast, cast_of, given_scenes_of, scenes_of
from shoal.errors import MisuseError
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.run import Run
from shoal.units import duration_s, length_m

__all__ = [
    "ATTACKS",
    "DEFAULT_KNOWLEDGE",
    "OF_POINTS",
    "Attacked",
    "Rate",
    "attack",
    "default_knowledge",
    "parse_knowledge",
    "wilson",
]

Attack = Callable[[Scene, np.random.Generator], list[Rate]]
GivenAttack = Callable[[GivenScene, np.random.Generator], list[Rate]]


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """A kind of knowledge.

    form: how it is written; words: for a help text; parse: what stands after its name, to an attack.
    """

    form: str
    words: str
    parse: Callable[[list[str], Trajectories], Attack]


def _points(words: list[str], _original: Trajectories) -> Attack:
    p = _number(words, "points:4", 10)
    return lambda scene, rng: attack_points(scene, p, rng)


def _attribution(words: list[str], _original: Trajectories) -> Attack:
    p = _number(words, "attribution:2", 10)
    return lambda scene, rng: attack_attribution(scene, p, rng)


def _top(words: list[str], _original: Trajectories) -> Attack:
    n = _number(words, "top:2", 5)
    return lambda scene, rng: attack_top(scene, n, rng)


def _noisy(words: list[str], _original: Trajectories) -> Attack:
    if len(words) != 3:
        raise MisuseError(f"noisy:{':'.join(words)} is not a knowledge; write for example noisy:4:500m:30min")
    p, noise_m, noise_s = (
        _number(words[:1], "noisy:4:500m:30min", 10),
        length_m(words[1]),
        duration_s(words[2]),
    )
    return lambda scene, rng: attack_noisy(scene, p, noise_m, noise_s, rng)


def _home_work(words: list[str], _original: Trajectories) -> Attack:
    if len(words) > 1:
        raise MisuseError(
            f"home-work:{':'.join(words)} is not a knowledge; write home-work, or home-work:+8h for local "
            "time 8 h after UTC"
        )
    text = words[0] if words else ""
    offset_s = (-1 if text.startswith("-") else 1) * duration_s(text.lstrip("+-")) if text else 0.0
    return lambda scene, rng: attack_home_work(scene, offset_s, rng)


def _period(words: list[str], original: Trajectories) -> Attack:
    if len(words) > 1:
        raise MisuseError(
            f"period:{':'.join(words)} is not a knowledge; write period, or period:3d to split 3 days after "
            "the start"
        )
    split = int(original.t.min() + duration_s(words[0]) // original.snapped_grid().slot_s) if words else None
    return lambda scene, rng: attack_period(scene, split, rng)


def _tau(words: list[str], _original: Trajectories) -> Attack:
    if len(words) != 1:
        raise MisuseError(f"tau:{':'.join(words)} is not a knowledge; write for example tau:30min")
    tau_s = duration_s(words[0])
    return lambda scene, rng: attack_tau(scene, tau_s, rng)


ATTACKS: Final[dict[str, Adversary]] = {
    "points": Adversary(
        form="points:P", words="P exact random samples: unicity and linkage, P = 1..10", parse=_points
    ),
    "top": Adversary(form="top:N", words="the N most visited cells, N = 1..5", parse=_top),
    "home-work": Adversary(
        form="home-work[:+8h]",
        words="the record; home and work are sought (local time = UTC + 8 h)",
        parse=_home_work,
    ),
    "noisy": Adversary(form="noisy:P:500m:30min", words="P samples with Gaussian errors", parse=_noisy),
    "period": Adversary(
        form="period[:3d]",
        words="what people did before a moment, 3 days after the start [middle]",
        parse=_period,
    ),
    "tau": Adversary(
        form="tau:30min",
        words="all observations in 30 minutes on end, to link and to learn another one",
        parse=_tau,
    ),
    "attribution": Adversary(
        form="attribution:P", words="P exact samples, to learn another one", parse=_attribution
    ),
}
DEFAULT_KNOWLEDGE: Final = (
    "points:1",
    "points:2",
    "points:4",
    "top:2",
    "noisy:4:500m:30min",
    "period",
    "home-work",
    "attribution:2",
)


@dataclass(frozen=True, kw_only=True)
class GivenAdversary:
    """A kind of knowledge of points as they were given.

    parse: what stands after its name, to an attack; the rest as in Adversary.
    """

    form: str
    words: str
    parse: Callable[[list[str]], GivenAttack]


def _exact(kind: Exact, words: list[str]) -> GivenAttack:
    p = _number(words, f"{kind}:4", 10)
    return lambda scene, rng: attack_exact(scene, kind, p, rng)


def _nearest(words: list[str]) -> GivenAttack:
    p = _number(words, "nearest:4", 10)
    return lambda scene, rng: [attack_nearest(scene, p, rng)]


OF_POINTS: Final[dict[str, GivenAdversary]] = {
    "triples": GivenAdversary(
        form="triples:P", words="P triples to the last digit, P = 1..10", parse=partial(_exact, "triples")
    ),
    "times": GivenAdversary(
        form="times:P", words="the times of P triples alone", parse=partial(_exact, "times")
    ),
    "nearest": GivenAdversary(
        form="nearest:P", words="P true points, to name the record that passes nearest", parse=_nearest
    ),
}


def default_knowledge(release: Release | None) -> tuple[str, ...]:
    """What is played when nothing is asked for.

    Of points also exact triples and times, and where they were moved the nearest record.
    """
    if release is None or release.kind != "points":
        return DEFAULT_KNOWLEDGE
    kinds = (
        ("triples", "times", "nearest")
        if isinstance(release.claim, KDeltaAnonymity)
        else ("triples", "times")
    )
    return (*(f"{kind}:{p}" for kind in kinds for p in (1, 2, 4)), *DEFAULT_KNOWLEDGE)


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """Every rate, and notes on what could not be tried."""

    rates: tuple[Rate, ...]
    notes: tuple[str, ...]


def parse_knowledge(text: str, original: Trajectories) -> Attack:
    """The attack on boxes that ``points:4`` and the like name; raises MisuseError when there is none."""
    name, *words = text.split(":")
    if name in OF_POINTS:
        raise MisuseError(
            f"{text} is knowledge of points as they were given, and what is attacked holds boxes; leave it "
            "out"
        )
    if name not in ATTACKS:
        forms = [
            *(one.form for one in ATTACKS.values()),
            *(f"{one.form} (points)" for one in OF_POINTS.values()),
        ]
        raise MisuseError(f"'{text}' is not a knowledge that shoal can play; choose from {', '.join(forms)}")
    return ATTACKS[name].parse(words, original)


def attack(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    knowledge: Sequence[str] | None,
    rng: np.random.Generator,
    *,
    tries: int = 1000,
    control: Trajectories | None = None,
    targets: Collection[TargetName] = ("raw", "release", "control"),
    run: Run | None = None,
) -> Attacked:
    """Play each knowledge against the raw data, the release, and the release with people who are not in it.

    original: on the release's grid; as given for a release of points, which adversaries of boxes meet on the
    grid of 100 m and 60 s. release, linkage: None for raw data alone. knowledge: None plays the default, of
    which what this data does not allow is noted. tries: victims for each attack, drawn at random where there
    are more; the same ones for every target. control: people who were never in the release, on the same grid;
    None = the suppressed ones. targets: of the three, those that are wanted. Raises InputError when the parts
    do not belong together, MisuseError for a knowledge or a number of tries that cannot be.
    """
    if tries < 1:
        raise MisuseError(f"tries = {tries} measures nothing; choose at least 1")
    if release is not None and linkage is None:
        raise MisuseError("attacking a release needs its linkage, to know who was right; give --linkage")
    run = run or Run()
    notes: list[str] = []
    casts = cast_of(original, release, linkage, tries, control, rng)
    if "control" in targets and release is not None and len(casts) < 3:
        notes.append(
            "no control group: everybody of the raw data is in the release; give --control, or hold people "
            "out before publishing"
        )
    casts = [cast for cast in casts if cast.label in targets]
    seed = int(rng.integers(0, 2**63))
    rates: list[Rate] = []
    for text, plays in _staged(
        original, release, default_knowledge(release) if knowledge is None else knowledge, casts, run
    ):
        for label, play in plays:
            try:
                rates += play(np.random.default_rng(seed))  # the same knowledge against every target
            except MisuseError as error:
                if label != "control" and knowledge is not None:
                    raise
                notes.append(f"{text} was not played against {label}: {error}")
    return Attacked(rates=tuple(rates), notes=tuple(notes))


def _staged(
    original: Trajectories,
    release: Release | None,
    knowledge: Sequence[str],
    casts: Sequence[Cast],
    run: Run,
) -> list[tuple[str, list[tuple[TargetName, Callable[[np.random.Generator], list[Rate]]]]]]:
    """Each knowledge with its attack on every target, ready to be played.

    Raises MisuseError for one that is none.
    """
    given = {
        text: OF_POINTS[name].parse(words)
        for text in knowledge
        for name, *words in [text.split(":")]
        if name in OF_POINTS and original.grid is None
    }
    snapped = (
        original.snapped_to(Grid())
        if release is not None and release.kind == "points" and len(given) < len(set(knowledge))
        else original
    )
    of_boxes = {text: parse_knowledge(text, snapped) for text in knowledge if text not in given}
    given_scenes = given_scenes_of(original, release, casts, run) if given else []
    scenes = scenes_of(original, snapped, release, casts, run) if of_boxes else []
    return [
        (
            text,
            [(scene.label, partial(given[text], scene)) for scene in given_scenes]
            if text in given
            else [(scene.label, partial(of_boxes[text], scene)) for scene in scenes],
        )
        for text in knowledge
    ]


def _number(words: list[str], example: str, most: int) -> int:
    """The one number of a knowledge."""
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= most:
        raise MisuseError(f"'{':'.join(words)}' is no number of 1 to {most}; write for example {example}")
    return int(words[0])
