"""The three questions of data protection: singling out, linkage, inference.

They are those of the Article 29 Working Party's Opinion 05/2014 on Anonymization Techniques (WP 216). The
rows of the table of attacks say which rate answers which. Raw data and release are always attacked with the
same people and knowledge, so whoever has raw data, release and linkage gets the same figures again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from shoal.attacks.adversary import QuestionName
from shoal.attacks.attacking import prepare
from shoal.attacks.knowledge import Knowledge, is_to_the_point, parse_knowledge, record_knowledge
from shoal.attacks.rate import Rate
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

DRAW: Final = 52_014  # victims and what is known of them are the same in every assessment of the same data
TRIES: Final = 200


@dataclass(frozen=True, kw_only=True)
class Question:
    """One of the three."""

    name: QuestionName
    words: str

    @property
    def attacks(self) -> tuple[str, ...]:
        """The names of the rates that answer it, as the table of attacks says."""
        return tuple(
            dict.fromkeys(
                rate for row in ATTACKS.values() for rate, name in row.answers.items() if name == self.name
            )
        )


QUESTIONS: Final = (
    Question(name="single out", words="Can records be isolated that belong to one person?"),
    Question(
        name="link", words="Can a record be linked to the person it is of, by what is known from elsewhere?"
    ),
    Question(name="infer", words="Can something be learnt about a person from the records?"),
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A rate on the release, and the same attack on the raw data. source: where the attack is from."""

    release: Rate
    raw: Rate
    source: str


def strongest_first(answers: Iterable[Answer], kind: PayloadKind) -> tuple[Answer, ...]:
    """In falling order of what each wins, against the release, of what guessing leaves.

    Those that stand apart come last; of equals first the greatest chance on any one person.
    """

    def strength(answer: Answer) -> tuple[bool, float, float]:
        rate = answer.release
        return is_to_the_point(rate.name, kind), rate.gain, rate.worst or 0.0

    return tuple(sorted(answers, key=strength, reverse=True))


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A question with every attack that answers it, the strongest first, which is the measure."""

    question: Question
    answers: tuple[Answer, ...]

    @property
    def greatest(self) -> Answer | None:
        """The attack that wins most against the release of what guessing leaves."""
        return next(iter(self.answers), None)


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The three questions answered.

    tries: victims of each attack, at most. notes: what could not be tried. kind: of the release.
    """

    questions: tuple[Answered, ...]
    tries: int
    notes: tuple[str, ...]
    kind: PayloadKind

    @property
    def strongest_first(self) -> tuple[Answer, ...]:
        """Every attack of all questions, the strongest first."""
        return strongest_first(
            (answer for answered in self.questions for answer in answered.answers), self.kind
        )


def assess_release(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    *,
    tries: int = TRIES,
    run: Run | None = None,
) -> Assessment:
    """Evaluate the attacks that answer the three questions, on the raw data and on the release.

    Parameters
    ----------
    original, release, linkage
        As `shoal.attacks.attack` takes them: raw data as given for a release of points.
    tries
        Victims of each attack, at most. From 1,000 on the attacks that are left out of the selection are
        evaluated, too: noisy knowledge, another period, fewer points.
    run
        Progress and threads.

    Raises
    ------
    InputError, MisuseError
        When the parts do not belong together.
    """
    rates: list[tuple[Rate, Knowledge]] = []
    notes: list[str] = []
    prepared = prepare(
        original,
        release,
        linkage,
        Randomness.for_research(DRAW),
        tries=tries,
        control=None,
        targets=("raw", "release"),
        run=run,
    )
    asked = [parse_knowledge(text) for text in record_knowledge(release, tries)]
    asked.sort(key=lambda one: one.adversary.takes_boxes)
    for one, on_targets in zip(asked, prepared.play(asked), strict=True):
        failed = [found for found in on_targets.values() if isinstance(found, MisuseError)]
        if failed:
            notes.append(f"{one.text} was not tried: {failed[0]}")
            continue
        rates += [
            (replace(rate, asked=one.text), one)
            for found in on_targets.values()
            if not isinstance(found, MisuseError)
            for rate in found
        ]
    of_raw = {(rate.name, one.text): rate for rate, one in rates if rate.target == "raw"}
    pairs = [
        Answer(release=rate, raw=of_raw[rate.name, one.text], source=one.adversary.source)
        for rate, one in rates
        if rate.target == "release"
    ]
    return Assessment(
        questions=tuple(
            Answered(
                question=question,
                answers=strongest_first(
                    (pair for pair in pairs if pair.release.name in question.attacks), release.kind
                ),
            )
            for question in QUESTIONS
        ),
        tries=tries,
        notes=tuple(notes),
        kind=release.kind,
    )
