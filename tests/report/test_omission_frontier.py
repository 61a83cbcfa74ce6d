"""What leaving samples out buys, in the record of a release that was made so, and in no other."""

import pytest

import shoal
from shoal.report.facts import omission
from shoal.report.facts.evidence import Evidence
from shoal.report.facts.omission import SHARES, made_with_omission, omission_frontier
from shoal.utility import Facts
from small_releases import random_people


def facts_of(**settings: object) -> Facts:
    people = random_people(40, 14, seed=2, days=3, cells=60)
    released = shoal.Glove(k=3, **settings).anonymize(people, shoal.Randomness.for_research(1))  # type: ignore[arg-type]
    return Facts(people, *released)


def test_the_frontier_of_a_release_made_so_holds_the_release_itself() -> None:
    facts = facts_of(omit_at_most=0.08)
    found = Evidence(facts, tries=0).omission
    assert found is not None
    assert [row.may_be_missing for row in found.rows] == sorted({*SHARES, 0.08})
    assert found.people == facts.release.n_records
    first, own, raw = found.rows[0], found.rows[4], facts.accuracy.raw
    assert (first.samples_missing, first.people_missing) == (0, 0)
    assert own.samples_missing == (facts.original.n_samples - raw.n_samples) / facts.original.n_samples > 0
    assert (own.mean_space_m, own.median_time_s) == (raw.mean_space_m, raw.median_time_s)
    means = [row.mean_space_m * row.mean_time_s for row in found.rows]
    assert means[0] > means[3] > means[-1]


@pytest.mark.parametrize(
    "settings", [{"suppress_space_m": 9000.0}, {"extent_at_most": "9km,5h"}, {"generalize": "none"}]
)
def test_boxes_of_other_making_have_no_such_frontier(settings: dict[str, object]) -> None:
    facts = facts_of(**settings)
    assert omission_frontier(facts) is None
    assert Evidence(facts, tries=0).omission is None


def test_covering_everything_is_what_the_refinement_made_and_a_few_crowds_stand_for_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = facts_of(refine=True)
    assert not made_with_omission(facts.release)
    assert Evidence(facts, tries=0).omission is None
    whole = omission_frontier(facts)
    monkeypatch.setattr(omission, "MOST_PEOPLE", 15)
    some = omission_frontier(facts)
    assert whole is not None
    assert some is not None
    assert 15 <= some.people < whole.people == 40
    raw = facts.accuracy.raw
    assert whole.rows[0].mean_time_s == pytest.approx(
        raw.mean_time_s, rel=0.1
    )  # cut by other units, see the page
