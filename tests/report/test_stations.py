"""What a release says first of boxes around few public places."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoal
from leaf_data import with_places
from naive_release import small_city
from shoal.attacks import place_lists
from shoal.attacks.place_lists import positions_repeat
from shoal.errors import MisuseError
from shoal.measures.leaves import part_places
from shoal.model.claims.hull import HullRule
from shoal.report.facts.evidence import Evidence, extents_with_leaves, hour_cautions, station_cautions
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts
from small_releases import record_of

TOLD = {"rate": 0.9, "baseline": 0.6}


def moved(people: shoal.Trajectories, x: Integers) -> shoal.Trajectories:
    """The same people and times on one line."""
    ids = np.repeat(people.ids, people.lengths).tolist()
    return shoal.Trajectories.from_rows(ids, people.t, x, 0 * x, grid=people.grid)


def facts_of(people: shoal.Trajectories, hull: str = "tight") -> Facts:
    """Of a release in pairs."""
    return Facts(people, *shoal.Glove(k=2, hull=hull).anonymize(people, Randomness.for_research(1)))


def test_boxes_around_leaves_are_as_large_as_said() -> None:
    people = with_places(small_city(16))
    assert people.places is not None
    facts = facts_of(people)
    leaves = part_places(people.places, 100.0, HullRule(leaf_places=10))
    leaf_at = dict(zip(zip(leaves.x, leaves.y, strict=True), leaves.leaf_of, strict=True))
    tight, wide, names = [], [], dict(zip(facts.linkage.uids, facts.linkage.trajectory_ids, strict=True))
    for number in range(facts.release.n_records):
        for box in zip(*(column.tolist() for column in facts.release.record(number).columns()), strict=True):
            inside = [
                leaves.bounds[leaf_at[x, y]]
                for uid, name in names.items()
                if _alike(facts.release, name, number)
                for t, x, y in zip(*people.samples_of(people.ids.index(uid)), strict=True)
                if box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]
            ]
            low, high = np.min(inside, axis=0)[:2], np.max(inside, axis=0)[2:]
            tight.append(100 * (box[4] - box[2] + box[5] - box[3]))
            wide.append(100 * int((high - low).sum()))
    assert extents_with_leaves(facts) == pytest.approx((np.mean(tight), np.mean(wide)))
    (caution,) = station_cautions(facts, TOLD)
    assert caution.startswith("Boxes tell exact stations: a reader of all boxes")
    assert "in 90 % of the boxes, and a blind guess with the same list in 60 %" in caution
    assert "(--leaves 10)" in caution


def _alike(release: shoal.Release, name: str, number: int) -> bool:
    one = release.record(release.trajectory_ids.index(name)).columns()
    return all(np.array_equal(a, b) for a, b in zip(one, release.record(number).columns(), strict=True))


def test_nothing_is_said_of_leaves_of_blind_readers_and_unmeasured() -> None:
    people = with_places(small_city(16))
    facts = facts_of(people)
    assert station_cautions(facts, {"rate": 0.64, "baseline": 0.6}) == ()
    assert station_cautions(facts, None) == ()
    assert station_cautions(facts_of(people, "leaves:4"), TOLD) == ()
    few = shoal.PublicPlaces(x=np.linspace(50.0, 850.0, 9), y=np.full(9, 50.0))
    (short,) = station_cautions(facts_of(replace(moved(people, people.x % 9), places=few)), TOLD)
    assert "--leaves" not in short


@pytest.mark.parametrize("of_stations", [True, False])
def test_positions_that_repeat_ask_for_a_list(of_stations: bool) -> None:
    people = moved(small_city(40), np.random.default_rng(1).integers(0, 30, 360) * (2 if of_stations else 1))
    assert positions_repeat(people) == of_stations
    assert not positions_repeat(small_city(40))
    facts = facts_of(people)
    said = station_cautions(facts, TOLD)
    assert len(said) == of_stations
    assert not said or said[0].endswith("how much was not measured.")  # readers of the page have no command
    page = record_of(people, facts.release, facts.linkage, shoal.verify(people, facts.release), (), tries=0)
    assert ("Positions repeat as those of base stations do" in page) == of_stations


def test_people_who_are_asked_apart_share_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.random.default_rng(1).integers(0, 30, 360)
    monkeypatch.setattr(place_lists, "_SAMPLES_AT_ONCE", 9)  # those of one person
    assert positions_repeat(moved(small_city(40), 2 * cells))
    assert not positions_repeat(moved(small_city(40), cells))


def test_the_record_says_the_measured_figure_first() -> None:
    people = with_places(small_city(24))
    evidence = Evidence(facts_of(people), tries=24)
    assert evidence.assessment is not None
    reader = next(
        answer.release
        for answer in evidence.assessment.strongest_first
        if answer.release.name == "downcoding-place"
    )
    (said,) = evidence.stations
    assert reader.rate > reader.baseline + 0.05
    assert f"in {100 * reader.rate:.1f} %".replace(".0 %", " %") in said


def test_a_list_needs_cells() -> None:
    with pytest.raises(MisuseError, match="needs boxes on cells"):
        shoal.read(shoal.synthesize(4, 1, 1), snap=False, sensitive="hospitals.csv")


@pytest.mark.parametrize(
    ("lon", "zone", "told"), [(-122.4, None, 1), (-122.4, "America/Los_Angeles", 0), (-2.3, None, 0)]
)
def test_hours_of_utc_far_away_are_a_caution(tmp_path: Path, lon: float, zone: str | None, told: int) -> None:
    rows = [f"p{who},2026-03-0{day}T08:00,37.7,{lon}" for who in range(3) for day in (2, 3)]
    file = tmp_path / "cabs.csv"
    file.write_text("\n".join(["id,time,lat,lon", *rows]))
    cautions = hour_cautions(shoal.read(file, time_zone=zone).intake.notes)
    assert len(cautions) == told
    assert all("are those of UTC; here it is about UTC-8" in caution for caution in cautions)
