"""Sentences of the library in the desk's languages: of all claims, with their numbers; English is marked."""

from itertools import product
from string import Formatter

import pytest

from desk_visits import Visitor
from shoal.desk.library import library_sentences, translated
from shoal.desk.words import LANGUAGES, Words
from shoal.methods import METHODS
from shoal.model.claims import (
    CLAIMS,
    Blurred,
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)

OTHERS = [language for language in LANGUAGES if language != "en"]
HULLS = ("tight", "outward:1", "outward:3", "grid:1500m")
VARIANTS: list[Claim] = [
    *(
        KAnonymity(k=k, truthful=truthful, hull=hull, missing_at_most=share, missing_of_one_at_most=4 * share)
        for k, truthful, hull, share in product((2, 7), (True, False), HULLS, (0.0, 0.05, 0.25))
    ),
    *(
        KteAnonymity(k=k, tau_s=5400, epsilon_s=1800, hiders_stay=stay, hull=hull)
        for k, stay, hull in product((2, 7), (True, False), HULLS)
    ),
    *(KDeltaAnonymity(k=k, delta_m=1500) for k in (2, 7)),
    *(TrajectoryPrivacy(k=k, time_threshold_s=100, space_threshold_m=5000) for k in (2, 7)),
    *(
        LocationPrivacy(k=k, time_threshold_s=100, space_threshold_m=5000, most_off_street_m=100)
        for k in (2, 7)
    ),
]


def test_every_claim_that_a_method_makes_is_among_them() -> None:
    assert {type(claim) for claim in VARIANTS} == {kind.about.claim for kind in METHODS.values()}
    assert set(CLAIMS.values()) == {type(claim) for claim in VARIANTS} | {Blurred}


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_a_claim_is_said_in_every_language(language: str) -> None:
    texts = {
        text
        for claim in VARIANTS
        for text in (claim.promise, *claim.limits, *claim.cautions, claim.no_anonymity, claim.privacy_model)
        if text
    }
    assert len(texts) > 60
    assert sorted(text for text in texts if translated(text, language) is None) == []
    assert sorted(text for text in texts if translated(text, language) == text) == []


def test_numbers_come_through() -> None:
    promise = KteAnonymity(k=3, tau_s=5400, epsilon_s=1800).promise
    said = translated(promise, "de")
    assert said is not None
    assert "1.5 h lang" in said
    assert "mindestens 3 passende" in said
    assert said.endswith("alle 30 min.")
    box = translated(KAnonymity(k=5, hull="grid:1500m").promise, "fr")
    assert box is not None
    assert "1.5 km." in box


def test_what_nobody_translated_stays_english_and_is_marked() -> None:
    assert translated("Nobody said this.", "de") is None
    known = "Sets of two."
    assert translated(f"{known} Nobody said this.", "de") is None
    assert translated(f"{known} Nobody said this.", "en") == f"{known} Nobody said this."


def test_every_row_of_the_file_has_every_language_and_its_values() -> None:
    rows = library_sentences()
    assert len(rows) > 40
    assert [row for row in rows if sorted(row) != ["de", "en", "fr"]] == []
    assert [row["en"] for row in rows if len({row["en"], row["de"], row["fr"]}) < 3] == []

    def values(text: str) -> list[str]:
        return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)

    assert [row["en"] for row in rows for text in row.values() if values(text) != values(row["en"])] == []
    assert len({row["en"] for row in rows}) == len(rows)


def test_the_pages_say_it_and_mark_what_is_english(released: Visitor) -> None:
    choices = released.desk.case.choices()
    released.desk.case.change(choices.version, language="de")
    page = released.get("release").html
    assert '<html lang="de">' in page
    assert '<span lang="en">The fewest records that fit one person.</span>' in page
    released.desk.case.change(released.desk.case.choices().version, language="en")
    assert (
        "<span lang="
        not in released.get("release").html.partition('id="settings"')[2].partition("</fieldset>")[0]
    )
    assert Words("de").has("method.glove")
