"""Singling out, linkage, inference: the questions of WP 216 (Opinion 05/2014 on Anonymization)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from shoal.attacks.adversary import QuestionName
from shoal.attacks.attacking import AttackScope, prepare
from shoal.attacks.knowledge import Knowledge, parse_knowledge, record_knowledge
from shoal.attacks.knowledge import strongest_first as rank
from shoal.attacks.rate import Rate, TargetName
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.release import Linkage, Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

DRAW: Final = 52_014  # victims and what is known of them are the same in every assessment of the same data
_TARGETS: Final[tuple[TargetName, ...]] = ("raw", "release")
TRIES: Final = 200  # victims of each attack, unless others are asked for


@dataclass(frozen=True, kw_only=True)
class Question:
    """One of the three questions."""

    name: QuestionName
    words: str

    @property
    def attacks(self) -> tuple[str, ...]:
        """The names of the rates that answer it."""
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
    Question(name="infer", words="Can something be learned about a person from the records?"),
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A rate on the release, and on the raw data, or again on the release alone. source: of the attack."""

    release: Rate
    raw: Rate
    source: str


def strongest_first(answers: Iterable[Answer], kind: PayloadKind) -> tuple[Answer, ...]:
    """By falling advantage on the release; rates that stand apart come last."""
    return tuple(rank(answers, kind, lambda answer: answer.release.to_json()))


@dataclass(frozen=True, kw_only=True)
class QuestionAnswers:
    """A question with its attacks, the strongest first."""

    question: Question
    answers: tuple[Answer, ...]

    @property
    def greatest(self) -> Answer | None:
        """The attack with the largest advantage on the release."""
        return next(iter(self.answers), None)


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The three questions answered."""

    questions: tuple[QuestionAnswers, ...]
    tries: int  # the most victims of each attack
    notes: tuple[str, ...]  # attacks that could not be tried
    kind: PayloadKind  # of the release

    @property
    def strongest_first(self) -> tuple[Answer, ...]:
        """Every attack, the strongest first."""
        return strongest_first(
            (answer for question in self.questions for answer in question.answers), self.kind
        )


def assess_release(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    *,
    tries: int = TRIES,
    run: Run | None = None,
    streets: StreetGraph | None = None,
    raw: bool = True,
) -> Assessment:
    """Evaluate the attacks on the three questions; from 1,000 tries on, all.

    streets: where people move. raw: attack the raw data, too.
    """
    rates: list[tuple[Rate, Knowledge]] = []
    notes: list[str] = []
    prepared = prepare(
        original,
        release,
        linkage,
        Randomness.for_research(DRAW),
        tries=tries,
        scope=AttackScope(targets=_TARGETS if raw else _TARGETS[1:], streets=streets),
        run=run,
    )
    texts = record_knowledge(release, tries, sensitive=original.sensitive is not None)
    asked = [parse_knowledge(text) for text in texts]
    asked.sort(key=lambda item: item.adversary.takes_boxes)
    for item, on_targets in zip(asked, prepared.play(asked), strict=True):
        failed = [outcome for outcome in on_targets.values() if isinstance(outcome, MisuseError)]
        if failed:
            notes.append(f"{item.text} was not tried: {failed[0].cli_message}")
            continue
        rates += [
            (replace(rate, asked=item.text), item)
            for outcome in on_targets.values()
            if not isinstance(outcome, MisuseError)
            for rate in outcome
        ]
    of_raw = {(rate.name, item.text): rate for rate, item in rates if rate.target == "raw"}
    pairs = [
        Answer(release=rate, raw=of_raw.get((rate.name, item.text), rate), source=item.adversary.source)
        for rate, item in rates
        if rate.target == "release"
    ]
    return Assessment(
        questions=tuple(
            QuestionAnswers(
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
