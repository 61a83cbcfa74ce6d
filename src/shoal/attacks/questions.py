"""The three questions of data protection: can a person be singled out of a release, linked to it, inferred about from it.

They are those of the Article 29 Working Party's Opinion 05/2014 on Anonymisation Techniques (WP 216). Each is answered by the
attacks of this package that ask it, against the raw data and the release, always with the same people and knowledge, so that whoever has
raw data, release and linkage gets the same figures again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks import DEFAULT_KNOWLEDGE, Rate, attack
from shoal.claims import KteAnonymity
from shoal.errors import MisuseError
from shoal.release import Linkage, Release
from shoal.run import Run
from shoal.trajectories import Trajectories

DRAW: Final = 52_014  # who is looked for and what is known of them: the same in every assessment of the same data
TRIES: Final = 200
QUICK: Final = ("points:4", "top:2", "attribution:2", "home-work")
THOROUGH: Final = tuple(dict.fromkeys([*QUICK, *DEFAULT_KNOWLEDGE]))
_THOROUGH_FROM: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Question:
    """One of the three. attacks: the names of the rates that answer it."""

    name: str
    words: str
    attacks: tuple[str, ...]


QUESTIONS: Final = (
    Question(name="single out", words="Can records be isolated that belong to one person?", attacks=("unicity",)),
    Question(
        name="link",
        words="Can a record be linked to the person it is of, by what is known from elsewhere?",
        attacks=("linkage", "noisy-linkage", "top-locations", "top-anonymity-set", "period-linkage"),
    ),
    Question(name="infer", words="Can something be learnt about a person from the records?", attacks=("attribution", "home", "work")),
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A rate on the release with the same attack on the raw data before it."""

    release: Rate
    raw: Rate


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A question with every attack that asks it; of the attacks the one with the greatest rate is the measure."""

    question: Question
    answers: tuple[Answer, ...]

    @property
    def greatest(self) -> Answer | None:
        """The attack that wins most often against the release."""
        return max(self.answers, key=lambda answer: (answer.release.rate, answer.release.worst or 0.0), default=None)


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The three questions answered. tries: victims drawn at most for each attack; notes: what could not be tried."""

    questions: tuple[Answered, ...]
    tries: int
    notes: tuple[str, ...]


def assess_release(original: Trajectories, release: Release, linkage: Linkage, *, tries: int = TRIES, run: Run | None = None) -> Assessment:
    """Play the attacks that ask the three questions; from 1,000 tries on also with noisy knowledge, another period and 1 and 2 points.

    A claim about followers is asked with what they know, too. Raises InputError when the parts do not belong together.
    """
    known = list(THOROUGH if tries >= _THOROUGH_FROM else QUICK)
    if isinstance(release.claim, KteAnonymity):
        known.append(f"tau:{release.claim.tau_s:g}s")
    rates: list[Rate] = []
    notes: list[str] = []
    for text in known:
        try:
            found = attack(
                original, release, linkage, [text], np.random.default_rng(DRAW), tries=tries, targets=("raw", "release"), run=run
            )
        except MisuseError as error:
            notes.append(f"{text} was not tried: {error}")
            continue
        rates += found.rates
    of_raw = {(rate.name, rate.knowledge): rate for rate in rates if rate.target == "raw"}
    pairs = [Answer(release=rate, raw=of_raw[rate.name, rate.knowledge]) for rate in rates if rate.target == "release"]
    return Assessment(
        questions=tuple(
            Answered(question=question, answers=tuple(pair for pair in pairs if pair.release.name in question.attacks))
            for question in QUESTIONS
        ),
        tries=tries,
        notes=tuple(notes),
    )
