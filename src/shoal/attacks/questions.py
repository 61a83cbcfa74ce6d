"""The three questions of data protection.

Can a person be singled out of a release, linked to it, inferred about from it.

They are those of the Article 29 Working Party's Opinion 05/2014 on Anonymization Techniques (WP 216). Each is
answered by the attacks of this package that ask it, against the raw data and the release, always with the
same people and knowledge, so that whoever has raw data, release and linkage gets the same figures again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks import OF_POINTS, Rate, attack, default_knowledge
from shoal.errors import MisuseError
from shoal.model.claims import KteAnonymity
from shoal.model.release import AnyRelease, Linkage, PointRelease
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.run import Run

DRAW: Final = (
    52_014  # who is looked for and what is known of them: the same in every assessment of the same data
)
TRIES: Final = 200
QUICK: Final = ("points:4", "top:2", "attribution:2", "home-work")
_THOROUGH_FROM: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Question:
    """One of the three. attacks: the names of the rates that answer it."""

    name: str
    words: str
    attacks: tuple[str, ...]


QUESTIONS: Final = (
    Question(
        name="single out",
        words="Can records be isolated that belong to one person?",
        attacks=("unicity", "triples-unicity", "times-unicity"),
    ),
    Question(
        name="link",
        words="Can a record be linked to the person it is of, by what is known from elsewhere?",
        attacks=(
            *("linkage", "noisy-linkage", "top-locations", "top-anonymity-set", "period-linkage"),
            *("triples-linkage", "times-linkage", "nearest-linkage"),
        ),
    ),
    Question(
        name="infer",
        words="Can something be learnt about a person from the records?",
        attacks=("attribution", "home", "work", "triples-disclosure", "times-disclosure"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A rate on the release with the same attack on the raw data before it."""

    release: Rate
    raw: Rate


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A question with every attack that asks it.

    Of the attacks the one with the greatest rate is the measure.
    """

    question: Question
    answers: tuple[Answer, ...]

    @property
    def greatest(self) -> Answer | None:
        """The attack that wins most often against the release."""
        return max(
            self.answers, key=lambda answer: (answer.release.rate, answer.release.worst or 0.0), default=None
        )


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The three questions answered.

    tries: victims drawn at most for each attack; notes: what could not be tried.
    """

    questions: tuple[Answered, ...]
    tries: int
    notes: tuple[str, ...]


def assess_release(
    original: Trajectories,
    release: AnyRelease,
    linkage: Linkage,
    *,
    tries: int = TRIES,
    run: Run | None = None,
) -> Assessment:
    """Play the attacks that ask the three questions.

    From 1,000 tries on also with noisy knowledge, another period and 1 and 2 points.

    original: as ``attack`` takes it, as given for a release of points. A claim about followers is asked with
    what they know, too; points are asked with exact triples, times and, where they were moved, true points.
    Raises InputError when the parts do not belong together.
    """
    rates: list[Rate] = []
    notes: list[str] = []
    asked = knowledge_for(release, tries)
    given = [text for text in asked if text.partition(":")[0] in OF_POINTS]
    jobs: list[tuple[Trajectories, AnyRelease, list[str]]] = [(original, release, given)] if given else []
    if isinstance(release, PointRelease):  # put on the grid once, not for every attack
        original.require_points_as_given()
        original, release = original.snapped_to(Grid()), release.as_boxes(Grid())
    original.snapped_grid()  # what cannot be attacked at all is an error, no note
    jobs += [(original, release, [text]) for text in asked if text not in given]
    for raw, published, known in jobs:
        try:
            found = attack(
                raw,
                published,
                linkage,
                known,
                np.random.default_rng(DRAW),
                tries=tries,
                targets=("raw", "release"),
                run=run,
            )
        except MisuseError as error:
            notes.append(f"{', '.join(known)} was not tried: {error}")
            continue
        rates += found.rates
    of_raw = {(rate.name, rate.knowledge): rate for rate in rates if rate.target == "raw"}
    pairs = [
        Answer(release=rate, raw=of_raw[rate.name, rate.knowledge])
        for rate in rates
        if rate.target == "release"
    ]
    return Assessment(
        questions=tuple(
            Answered(
                question=question,
                answers=tuple(pair for pair in pairs if pair.release.name in question.attacks),
            )
            for question in QUESTIONS
        ),
        tries=tries,
        notes=tuple(notes),
    )


def knowledge_for(release: AnyRelease, tries: int) -> tuple[str, ...]:
    """What is played to answer the questions of a release, with so many tries."""
    default = default_knowledge(release)
    of_points = [text for text in default if text.partition(":")[0] in OF_POINTS and text.endswith(":4")]
    followers = [f"tau:{release.claim.tau_s:g}s"] if isinstance(release.claim, KteAnonymity) else []
    return (*(default if tries >= _THOROUGH_FROM else (*QUICK, *of_points)), *followers)
