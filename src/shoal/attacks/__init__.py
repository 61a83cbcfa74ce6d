"""Adversaries: each with what they know, what they do with it, and how often they win (semantics 5).

Knowledge is drawn from raw data; what is attacked is the raw data itself (risk before), a release (risk after), and a release with the
knowledge of people who are not in it (control: what luck, and what everybody's habits, give).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.home_work import attack_home_work
from shoal.attacks.noisy import attack_noisy
from shoal.attacks.places import attack_period, attack_top
from shoal.attacks.points import attack_attribution, attack_points
from shoal.attacks.rate import Rate, TargetName, wilson
from shoal.attacks.scene import Scene, Target
from shoal.attacks.tau_knowledge import attack_tau
from shoal.errors import InputError, MisuseError
from shoal.linked import records_that_belong
from shoal.release import Linkage, Release
from shoal.run import Run
from shoal.trajectories import Integers, Trajectories
from shoal.units import duration_s, length_m

__all__ = ["ATTACKS", "DEFAULT_KNOWLEDGE", "Attacked", "Rate", "attack", "parse_knowledge", "wilson"]

Attack = Callable[[Scene, np.random.Generator], list[Rate]]


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """A kind of knowledge. form: how it is written; words: for a help text; parse: what stands after its name, to an attack."""

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
    p, noise_m, noise_s = _number(words[:1], "noisy:4:500m:30min", 10), length_m(words[1]), duration_s(words[2])
    return lambda scene, rng: attack_noisy(scene, p, noise_m, noise_s, rng)


def _home_work(words: list[str], _original: Trajectories) -> Attack:
    if len(words) > 1:
        raise MisuseError(f"home-work:{':'.join(words)} is not a knowledge; write home-work, or home-work:+8h for local time 8 h after UTC")
    text = words[0] if words else ""
    offset_s = (-1 if text.startswith("-") else 1) * duration_s(text.lstrip("+-")) if text else 0.0
    return lambda scene, rng: attack_home_work(scene, offset_s, rng)


def _period(words: list[str], original: Trajectories) -> Attack:
    if len(words) > 1:
        raise MisuseError(f"period:{':'.join(words)} is not a knowledge; write period, or period:3d to split 3 days after the start")
    split = int(original.t.min() + duration_s(words[0]) // original.snapped_grid().slot_s) if words else None
    return lambda scene, rng: attack_period(scene, split, rng)


def _tau(words: list[str], _original: Trajectories) -> Attack:
    if len(words) != 1:
        raise MisuseError(f"tau:{':'.join(words)} is not a knowledge; write for example tau:30min")
    tau_s = duration_s(words[0])
    return lambda scene, rng: attack_tau(scene, tau_s, rng)


ATTACKS: Final[dict[str, Adversary]] = {
    "points": Adversary(form="points:P", words="P exact random samples: unicity and linkage, P = 1..10", parse=_points),
    "top": Adversary(form="top:N", words="the N most visited cells, N = 1..5", parse=_top),
    "home-work": Adversary(form="home-work[:+8h]", words="the record; home and work are sought (local time = UTC + 8 h)", parse=_home_work),
    "noisy": Adversary(form="noisy:P:500m:30min", words="P samples with Gaussian errors", parse=_noisy),
    "period": Adversary(form="period[:3d]", words="what people did before a moment, 3 days after the start [middle]", parse=_period),
    "tau": Adversary(form="tau:30min", words="all observations in 30 minutes on end, to link and to learn another one", parse=_tau),
    "attribution": Adversary(form="attribution:P", words="P exact samples, to learn another one", parse=_attribution),
}
DEFAULT_KNOWLEDGE: Final = ("points:1", "points:2", "points:4", "top:2", "noisy:4:500m:30min", "period", "home-work", "attribution:2")


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """Every rate, and notes on what could not be tried."""

    rates: tuple[Rate, ...]
    notes: tuple[str, ...]


def parse_knowledge(text: str, original: Trajectories) -> Attack:
    """The attack that ``points:4`` and the like name; raises MisuseError when there is none."""
    name, *words = text.split(":")
    if name not in ATTACKS:
        forms = ", ".join(adversary.form for adversary in ATTACKS.values())
        raise MisuseError(f"'{text}' is not a knowledge that shoal can play; choose from {forms}")
    return ATTACKS[name].parse(words, original)


def attack(
    original: Trajectories,
    release: Release | None,
    linkage: Linkage | None,
    knowledge: Sequence[str],
    rng: np.random.Generator,
    *,
    tries: int = 1000,
    control: Trajectories | None = None,
    targets: Collection[TargetName] = ("raw", "release", "control"),
    run: Run | None = None,
) -> Attacked:
    """Play each knowledge against the raw data, the release, and the release with people who are not in it.

    release, linkage: None for raw data alone. tries: victims for each attack, drawn at random where there are more; the same ones for
    every target. control: people who were never in the release, on the same grid; None = the suppressed ones. targets: of the three, those
    that are wanted.
    Raises InputError when the parts do not belong together, MisuseError for a knowledge or a number of tries that cannot be.
    """
    if tries < 1:
        raise MisuseError(f"tries = {tries} measures nothing; choose at least 1")
    if release is not None and linkage is None:
        raise MisuseError("attacking a release needs its linkage, to know who was right; give --linkage")
    run = run or Run()
    attacks = [parse_knowledge(text, original) for text in knowledge]
    raw = Target.of_trajectories(original)
    everybody = np.arange(original.n_subjects)
    notes: list[str] = []
    if release is None or linkage is None:
        victims = _some(everybody, tries, rng)
        scenes = [Scene(known=original, target=raw, victims=victims, own=victims, label="raw", run=run)]
    else:
        records = records_that_belong(original, release, linkage)
        target = Target.of_release(release)
        victims = _some(everybody[records >= 0], tries, rng)
        scenes = [
            Scene(known=original, target=raw, victims=victims, own=victims, label="raw", run=run),
            Scene(known=original, target=target, victims=victims, own=records[victims], label="release", run=run),
        ]
        outside, strangers = (original, everybody[records < 0]) if control is None else (control, np.arange(control.n_subjects))
        if control is not None and (control.grid != original.grid or set(control.ids) & set(linkage.uids)):
            raise InputError("the control group is on another grid or holds people of the release; give people who are not in it")
        if len(strangers):
            chosen = _some(strangers, tries, rng)
            stand_ins = rng.integers(0, release.n_records, len(chosen))
            scenes.append(Scene(known=outside, target=target, victims=chosen, own=stand_ins, label="control", run=run))
        elif "control" in targets:
            notes.append(
                "no control group: everybody of the raw data is in the release; give --control, or hold people out before publishing"
            )
    seed = int(rng.integers(0, 2**63))
    rates: list[Rate] = []
    for text, play in zip(knowledge, attacks, strict=True):
        for scene in scenes:
            if scene.label not in targets:
                continue
            try:
                rates += play(scene, np.random.default_rng(seed))  # the same knowledge against every target
            except MisuseError as error:
                if scene.label != "control":
                    raise
                notes.append(f"no control for {text}: {error}")
    return Attacked(rates=tuple(rates), notes=tuple(notes))


def _some(subjects: Integers, most: int, rng: np.random.Generator) -> Integers:
    """All of them, or ``most`` at random, ascending."""
    return subjects if len(subjects) <= most else np.sort(rng.choice(subjects, size=most, replace=False))


def _number(words: list[str], example: str, most: int) -> int:
    """The one number of a knowledge."""
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= most:
        raise MisuseError(f"'{':'.join(words)}' is no number of 1 to {most}; write for example {example}")
    return int(words[0])
