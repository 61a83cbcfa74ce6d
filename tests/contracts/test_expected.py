"""What somebody expects a release to claim: read from text, and compared number by number."""

from dataclasses import fields, replace
from typing import Any

import pytest

from claim_examples import EXAMPLES
from shoal.errors import MisuseError
from shoal.model.claims import CLAIMS, KAnonymity, KDeltaAnonymity, KteAnonymity, LocationPrivacy
from shoal.model.claims.common import STRONGER
from shoal.model.claims.expected import ExpectedClaim, numbers_in_words
from shoal.model.intake import Reading


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_every_number_of_a_claim_says_which_way_it_is_stronger(kind: type) -> None:
    directions = {each.name: each.metadata.get(STRONGER) for each in fields(kind)}
    assert set(directions.values()) <= {"more", "less", "same"}, directions


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_every_number_made_weaker_is_less_and_made_stronger_is_not(kind: type) -> None:
    switches = {each.name: True for each in fields(kind) if each.type is bool}
    ones = {each.name: 4 for each in fields(kind) if each.type is int and each.default == 1}
    claim = replace(EXAMPLES[kind], **switches, **ones)  # a switch that is off, and a 1, cannot be less
    whole = ExpectedClaim.of(claim)
    assert list(whole.shortfalls(claim)) == []
    for each in fields(kind):
        value, way = getattr(claim, each.name), each.metadata[STRONGER]
        weaker: Any = "outward:3"
        if way != "same":
            weaker = False if value is True else value / 2 if way == "more" else value * 2
        weaker = int(weaker) if isinstance(value, int) and not isinstance(value, bool) else weaker
        less = replace(claim, **{each.name: weaker})
        (fault,) = whole.shortfalls(less)
        assert each.name.removesuffix("_s").removesuffix("_m").replace("_", "-") in fault
        if value is not True and way != "same":
            assert list(ExpectedClaim.of(less).shortfalls(claim)) == []


@pytest.mark.parametrize(
    ("reading", "same"),
    [
        (Reading(id="msisdn"), True),
        (Reading(id="imei", person="msisdn"), True),
        (Reading(id="msisdn", person="trip"), False),
        (Reading(id="msisdn", per_day=True), False),
        (Reading(), False),
    ],
)
def test_k_days_of_one_person_are_not_k_people(reading: Reading, *, same: bool) -> None:
    expected = ExpectedClaim.parse("k-anonymity:5,truthful,unit=msisdn")
    faults = list(expected.shortfalls(KAnonymity(k=5), reading))
    assert ["expected unit=msisdn" in fault for fault in faults] == [True] * (not same)
    assert expected.words == "k-anonymity, k 5, truthful yes, unit msisdn"


@pytest.mark.parametrize("text", ["k-anonymity:5,unit", "k-anonymity:5,unit=", "k-anonymity:5,unit=a,unit=b"])
def test_a_unit_is_one_column(text: str) -> None:
    with pytest.raises(MisuseError, match="unit needs one column"):
        ExpectedClaim.parse(text)


@pytest.mark.parametrize(
    ("text", "claim", "faults"),
    [
        ("k-anonymity:5", KAnonymity(k=5), []),
        ("k-anonymity:5", KAnonymity(k=9), []),
        ("k-anonymity:5,diverse-places=2", KAnonymity(k=5, diverse_places=3), []),
        ("k-anonymity", KAnonymity(k=2, truthful=False), []),
        ("k-anonymity:5,truthful", KAnonymity(k=5, truthful=False), ["truthful = no, expected yes"]),
        ("k-anonymity:5,truthful=no", KAnonymity(k=5, truthful=False), []),
        (
            " k-anonymity: 5 , disjoint-in-time ",
            KAnonymity(k=2, disjoint_in_time=False),
            ["k = 2, expected at least 5", "disjoint-in-time = no, expected yes"],
        ),
        (
            "kte-anonymity:2,tau=1h,epsilon=30min",
            KteAnonymity(k=2, tau_s=1800, epsilon_s=1800),
            ["tau = 30 min, expected at least 1 h"],
        ),
        (
            "k-delta-anonymity:2,delta=500m",
            KDeltaAnonymity(k=2, delta_m=2e6),
            ["delta = 2,000 km, expected at most 500 m"],
        ),
        ("k-delta-anonymity:2,delta=0", KDeltaAnonymity(k=2, delta_m=0), []),
        (
            "k-anonymity:5",
            KDeltaAnonymity(k=5, delta_m=1),
            ["it claims k-delta-anonymity, expected k-anonymity"],
        ),
        (
            "k-anonymity:5,missing-at-most=5%,missing-of-one-at-most=0.2",
            KAnonymity(k=5, missing_of_one_at_most=0.2),
            ["missing-at-most = any share, expected at most 5 %"],
        ),
        ("k-anonymity:5,hull=tight", KAnonymity(k=5, hull="grid:2km"), ["hull = grid:2km, expected tight"]),
        ("k-anonymity:5,hull=grid:2km", KAnonymity(k=5, hull="grid:2km"), []),
        (
            "location-p-privacy:4,both-sides,most-off-street=50m",
            LocationPrivacy(
                k=4, time_threshold_s=1, space_threshold_m=1, most_off_street_m=60, both_sides=False
            ),
            ["both-sides = no, expected yes", "most-off-street = 60 m, expected at most 50 m"],
        ),
    ],
)
def test_a_claim_falls_short_of_what_is_expected(text: str, claim: Any, faults: list[str]) -> None:
    assert list(ExpectedClaim.parse(text).shortfalls(claim)) == faults


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("magic:5", "'magic' is no claim; choose from k-anonymity, "),
        ("", "'' is no claim"),
        (
            "k-anonymity:5,honest",
            "'honest' is no number of k-anonymity; known: k, truthful, disjoint-in-time",
        ),
        ("k-anonymity:five", "'five' is no number of k-anonymity"),
        ("k-anonymity:k=five", "k = 'five' is no whole number"),
        ("k-anonymity:1", "k = 1 hides nobody"),
        ("k-anonymity:5,7", "'k' stands twice"),
        ("k-anonymity:5,truthful=perhaps", "truthful = 'perhaps' is neither yes nor no"),
        ("k-anonymity:5,missing-at-most", "such as missing-at-most=5%"),
        ("k-anonymity:5,missing-at-most=5", "'5' is no share"),
        ("kte-anonymity:2,tau", "tau needs a value"),
        ("kte-anonymity:2,tau=30", "write a number and a unit"),
        ("k-delta-anonymity:2,delta=-1m", "is not a length"),
    ],
)
def test_an_expectation_that_cannot_be_read_is_told(text: str, told: str) -> None:
    with pytest.raises(MisuseError) as error:
        ExpectedClaim.parse(text)
    assert told in str(error.value)


def test_a_claim_shows_all_its_numbers() -> None:
    claim = KAnonymity(k=3, truthful=False)
    assert numbers_in_words(claim) == (
        "k = 3, truthful = no, disjoint-in-time = yes, hull = tight, missing-at-most = any share, "
        "missing-of-one-at-most = any share, diverse-places = 1"
    )
    assert ExpectedClaim.parse("kte-anonymity:2,tau=1h").words == "kte-anonymity, k 2, tau 1 h"
