"""One function says which attack is the strongest, for the report and for the record to sign."""

from typing import Any

import pytest

from shoal.attacks.questions import QUESTIONS, Answer, Assessment, QuestionAnswers
from shoal.attacks.rate import Rate
from shoal_desk.risk import strongest_first as of_record


def rate(name: str, asked: str, successes: float) -> Rate:
    return Rate(
        name=name,
        knowledge=asked,
        attacker="Somebody.",
        target="release",
        tries=1000,
        successes=successes,
        baseline=0.0,
        worst=0.5,
        asked=asked,
    )


def named(rates: list[Rate]) -> tuple[list[str | None], list[str]]:
    """The order in a report, and in a record."""
    answers = tuple(
        QuestionAnswers(
            question=question,
            answers=tuple(
                Answer(release=one, raw=one, source="") for one in rates if one.name in question.attacks
            ),
        )
        for question in QUESTIONS
    )
    assessment = Assessment(questions=answers, tries=1000, notes=(), kind="boxes")
    entries: list[dict[str, Any]] = [one.to_json() for one in reversed(rates)]
    return (
        [answer.release.asked for answer in assessment.strongest_first],
        [one["asked"] for one in of_record(entries, "boxes")],
    )


@pytest.mark.parametrize("other", [495, 500, 505])
def test_other_victims_of_a_near_tie_change_no_name(other: float) -> None:
    report, record = named([rate("downcoding-place", "downcoding", other), rate("linkage", "points:4", 500)])
    assert report == record == ["points:4", "downcoding"]
    two = [rate("linkage", "points:4", 500), rate("top-locations", "top:2", other)]
    assert named(two) == named(two[::-1]) == (["points:4", "top:2"],) * 2


def test_what_wins_a_percent_more_is_the_strongest() -> None:
    report, record = named([rate("downcoding-place", "downcoding", 511), rate("linkage", "points:4", 500)])
    assert report == record == ["downcoding", "points:4"]
    assert named([]) == ([], [])
