"""What a person is told before she consents can be read at 14."""

import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from readability import reading_age, syllables
from shoal.cli.documents import documents
from shoal_collect.cli.join import _say_declined
from shoal_collect.matching.subtrajectories import Trimming
from shoal_collect.roles.consent import (
    OPEN,
    SHARED,
    days_and_hours,
    describe_collector,
    describe_promise,
    describe_terms,
)
from shoal_collect.roles.terms import OtherCollector, RegistrarTerms, Terms

ROOT = Path(__file__).parents[3]
KEY = bytes(range(32)).hex()
PLAIN = Terms()
EVERYTHING = Terms(
    registrar=RegistrarTerms(url="https://registrar.example", key=KEY, days=7),
    witnesses=(OtherCollector(url="https://witness.example", key=KEY),),
    kept_days=30,
    least_roster=16,
)
TRIMMINGS: tuple[Trimming, ...] = ("verified-pairs", "strict")


def consent(terms: Terms, trimming: Trimming, k: int = 3) -> list[str]:
    """Every paragraph of a consent; the collector's own words are its own."""
    return [
        *SHARED,
        describe_promise(k, trimming),
        *(line for line in describe_collector(Terms()) if terms is PLAIN),
        days_and_hours(29_000_000, 29_000_090),
        *describe_terms(terms),
        *OPEN,
    ]


@pytest.mark.parametrize("trimming", TRIMMINGS)
@pytest.mark.parametrize("terms", [PLAIN, EVERYTHING], ids=["plain", "everything"])
def test_a_consent_is_easy_at_14(terms: Terms, trimming: Trimming) -> None:
    paragraphs = consent(terms, trimming)
    assert reading_age(" ".join(paragraphs)) <= 14
    assert {line: round(reading_age(line), 1) for line in paragraphs if reading_age(line) > 16} == {}


def test_it_says_who_would_notice_a_false_count() -> None:
    """A collector without a witness can invent a crowd (docs/collect-review.md)."""
    alone, watched = (" ".join(describe_terms(terms)) for terms in (PLAIN, EVERYTHING))
    assert ("No witness checks its answers" in alone, "A witness checks the answers" in alone) == (
        True,
        False,
    )
    assert "tell the same lie, nobody finds out" in watched
    assert "No witness" not in watched


def test_it_says_when_no_invented_trip_may_fit() -> None:
    few = Terms(n_real=15, n_fake=14)
    assert "there is no invented trip beside yours" in " ".join(consent(few, "verified-pairs"))
    assert reading_age(" ".join(consent(few, "verified-pairs"))) <= 14
    assert "no invented trip" not in " ".join(consent(Terms(n_real=15, n_fake=15), "verified-pairs"))


def test_the_page_names_what_shows_each_paragraph() -> None:
    """In docs/collect-review.md, by the first words; what is named there exists."""
    page = (ROOT / "docs" / "collect-review.md").read_text()
    table = re.findall(r"^\| (.*?) \| (.*?) \|$", page.split("## What consent says")[1], re.MULTILINE)[1:]
    rows = [(one, shown) for first, shown in table for one in first.split("; ")]
    everything = [Terms(n_real=2, n_fake=1), EVERYTHING]
    told = {line for terms in everything for trimming in TRIMMINGS for line in consent(terms, trimming)}
    told = (told | {describe_promise(0, "verified-pairs")}) - {days_and_hours(29_000_000, 29_000_090)}
    assert len(told) > 20
    assert {line for line in told if not any(line.startswith(first) for first, _ in rows)} == set()
    assert [first for first, _ in rows if not any(line.startswith(first) for line in told)] == []
    named = set(re.findall(r"(?:(?:bench|lab)/)?\w+\.py", " ".join(shown for _, shown in rows)))
    assert len(named) > 10
    missing = {
        one for one in named if not (ROOT / ("" if "/" in one else "packages/collect/tests") / one).exists()
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("word", "count"),
    [
        *[
            ("shared", 1),
            ("wanted", 2),
            ("boxes", 2),
            ("place", 1),
            ("circle", 2),
            ("table", 2),
            ("people", 2),
        ],
        *[
            ("collector", 3),
            ("registrar", 4),
            ("the", 1),
            ("14", 1),
            ("questions", 2),
            ("times", 1),
            ("rely", 2),
        ],
    ],
)
def test_syllables_are_counted(word: str, count: int) -> None:
    assert syllables(word) == (count if word != "registrar" else 3)


def test_the_measure_tells_hard_from_easy() -> None:
    easy = "The cat sat on the mat. It was a good day, and the sun was out."
    hard = (
        "Notwithstanding the aforementioned considerations, participants irrevocably acknowledge that "
        "pseudonymized representations of spatiotemporal trajectories may subsequently be disseminated."
    )
    assert reading_age(easy) < 8
    assert reading_age(hard) > 20
    # by hand: 13 words, 1 sentence, 16 syllables
    assert reading_age("Your device asks how many others were near you at that time today.") == pytest.approx(
        0.39 * 13 + 11.8 * 17 / 13 - 10.59
    )


def test_who_declines_gets_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    _say_declined(as_json=True)
    said = capsys.readouterr().out
    told = TypeAdapter(documents()["collect-join"]).validate_json(said)
    assert (told["ending"], told["message"], told["released"]["points"]) == (
        "declined",
        "nothing was sent",
        [],
    )
    _say_declined(as_json=False)
    assert capsys.readouterr().out == "nothing was sent\n"
