"""Singling out, linkage, inference: the questions of WP 216 (Opinion 05/2014 on Anonymization)."""

from dataclasses import dataclass, replace
from typing import Any, Final

from shoal.attacks.adversary import QuestionName
from shoal.attacks.attacking import AttackScope, prepare
from shoal.attacks.knowledge import Knowledge, parse_knowledge, record_knowledge, strongest_first
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
_PUBLISHED: Final[tuple[TargetName, ...]] = ("release",)
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
    """A rate on the release, and on the raw data. source: of the attack."""

    release: Rate
    raw: Rate
    source: str


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
        answers = (answer for question in self.questions for answer in question.answers)
        return tuple(strongest_first(answers, self.kind, _on_release))


def _on_release(answer: Answer) -> dict[str, Any]:
    return answer.release.to_json()


def strongest_rate(
    original: Trajectories, release: Release, linkage: Linkage, run: Run, *, least_people: int
) -> Rate | None:
    """The strongest attack of ``assess_release`` on so many people, without attacks on the raw data."""
    rates, _ = _play(original, release, linkage, AttackScope(targets=_PUBLISHED), TRIES, run)
    many = (rate for rate, _ in rates if rate.tries >= least_people)
    return next(iter(strongest_first(many, release.kind, Rate.to_json)), None)


def assess_release(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    *,
    tries: int = TRIES,
    run: Run | None = None,
    streets: StreetGraph | None = None,
) -> Assessment:
    """Evaluate the attacks on the three questions; from 1,000 tries on, all. streets: where people move."""
    scope = AttackScope(targets=("raw", "release"), streets=streets)
    rates, notes = _play(original, release, linkage, scope, tries, run)
    of_raw = {(rate.name, item.text): rate for rate, item in rates if rate.target == "raw"}
    pairs = [
        Answer(release=rate, raw=of_raw[rate.name, item.text], source=item.adversary.source)
        for rate, item in rates
        if rate.target == "release"
    ]
    return Assessment(
        questions=tuple(
            QuestionAnswers(
                question=question,
                answers=tuple(
                    strongest_first(
                        (pair for pair in pairs if pair.release.name in question.attacks),
                        release.kind,
                        _on_release,
                    )
                ),
            )
            for question in QUESTIONS
        ),
        tries=tries,
        notes=tuple(notes),
        kind=release.kind,
    )


def _play(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    scope: AttackScope,
    tries: int,
    run: Run | None,
) -> tuple[list[tuple[Rate, Knowledge]], list[str]]:
    """Rates, and notes on attacks that could not be tried on some target."""
    rates: list[tuple[Rate, Knowledge]] = []
    notes: list[str] = []
    rng = Randomness.for_research(DRAW)
    prepared = prepare(original, release, linkage, rng, tries=tries, scope=scope, run=run)
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
    return rates, notes
