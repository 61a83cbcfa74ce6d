"""Metrics: perfect where nothing changes, known by hand on small releases, bounded by what boxes allow."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import shoal
from naive_release import stating
from shoal.errors import InputError, MisuseError
from shoal.measures.query import Zones, time_profile
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility import METRICS, Facts, Metric, Value, measure, metrics_of_every_release
from shoal.utility.mobility import gyration_of, rank_correlation, trip_lengths
from shoal.utility.points import measure_points
from small_data import populations
from small_points import crowd
from small_releases import naive_release, random_people, record_of

PERFECT = {"share higher": 1.0, "1 higher": 1.0, "share lower": 0.0, "m lower": 0.0, "s lower": 0.0}


OF_BOXES = tuple(name for name, metric in METRICS.items() if "boxes" in metric.takes)


def unchanged(people: Trajectories) -> tuple[Release, Linkage]:
    """Everybody's own samples under a pseudonym: no protection at all."""
    crowds = [
        EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*people.samples_of(i)))
        for i in range(people.n_subjects)
    ]
    return assemble(people, crowds, stating(KAnonymity(k=2), "none"), Randomness.from_system())


def values(people: Trajectories, release: Release, linkage: Linkage) -> dict[str, float]:
    return {found.name: found.result.value for found in measure(people, release, linkage)}


def test_a_release_that_changes_nothing_is_perfect() -> None:
    people = random_people(30, 20, seed=1)
    found = values(people, *unchanged(people))
    assert tuple(found) == OF_BOXES
    del found["extents-above-least"]  # which asks what crowds of two would have at least
    extents = {"extent-space": 200.0, "extent-time": 60.0}  # of single cells and slots
    for name, value in found.items():
        perfect = PERFECT[f"{METRICS[name].unit} {METRICS[name].better}"]
        assert value == pytest.approx(extents.get(name, perfect), abs=1e-9), name


def test_generalization_costs_and_its_bounds_hold() -> None:
    people = random_people(30, 20, seed=1)
    release, linkage = naive_release(people, k=3)
    found = {one.name: one.result for one in measure(people, release, linkage)}
    perfect = {one.name: one.result for one in measure(people, *unchanged(people))}
    for name in (
        "od-similarity",
        "visits-error",
        "range-error",
        "gyration-error",
        "trip-length-error",
        "time-profile-error",
        "extent-time",
    ):
        worse = found[name].value - perfect[name].value
        assert worse < 0 if METRICS[name].better == "higher" else worse > 0, name
    assert found["samples-created"].value == 0
    assert found["range-bounded"].value == 1.0
    for value in found.values():
        if value.low is not None and value.high is not None:
            assert value.low <= value.value <= value.high
        if value.minimum is not None and value.maximum is not None and value.expected is not None:
            assert value.minimum <= value.expected <= value.maximum


def test_suppression_is_seen() -> None:
    people = random_people(30, 20, seed=1)
    release, linkage = naive_release(people, k=3, suppress=2)
    found = values(people, release, linkage)
    assert found["people-suppressed"] == 6 / 30
    assert found["samples-covered"] == 1 - release.losses.samples_suppressed / people.n_samples


def test_boxes_without_a_sample_of_their_person_are_counted() -> None:
    people = random_people(20, 10, seed=1)
    release, linkage = unchanged(people)
    boxes = release.boxes
    moved = Boxes(
        **{name: getattr(boxes, name) + (0 if name.startswith("t_") else 5000) for name in BOX_COLUMNS}
    )
    assert values(people, replace(release, payload=moved), linkage)["samples-created"] == 1.0


def test_by_hand_gyration_trips_and_hours() -> None:
    cells = Boxes.of_samples(np.array([0, 1]), np.array([0, 6]), np.array([0, 8]))
    radii = gyration_of(cells, np.array([0, len(cells)]), 100.0)
    assert radii[:, 0].tolist() == pytest.approx([500, 500, 500])
    wide = Boxes(
        **dict(zip(BOX_COLUMNS, np.array([[0, 1, 0, 0, 3, 1], [1, 2, 10, 0, 11, 1]]).T, strict=True))
    )
    # the first is in cell 0, 1 or 2, the second in cell 10
    low, expected, high = gyration_of(wide, np.array([0, len(wide)]), 1.0)[:, 0]
    assert expected == pytest.approx(np.sqrt(np.mean([np.var([first, 10]) for first in (0, 1, 2)])))
    assert low <= 4 <= 5 <= high
    people = Trajectories.from_rows(["a", "a"], [0, 1], [0, 10], [0, 0], grid=Grid(cell_m=1, slot_s=1))
    release, _ = unchanged(people)
    lengths = trip_lengths(replace(release, payload=wide))
    assert [float(v[0]) for v in vars(lengths).values()] == [8, 9, 10]


def test_bounds_of_hours_hold_every_world_and_are_reached() -> None:
    """Two people, each box of two hours; the oracle is the distance of every world from the raw data."""
    people = Trajectories.from_rows(
        ["a", "a", "b", "b"], [0, 5, 0, 5], [0, 1, 1, 1], [0] * 4, grid=Grid(cell_m=1, slot_s=3600)
    )
    boxes = Boxes(
        **dict(zip(BOX_COLUMNS, np.array([[0, 2, 0, 0, 2, 1], [5, 7, 0, 0, 2, 1]] * 2).T, strict=True))
    )
    release, linkage = unchanged(people)
    (measured,) = measure(people, replace(release, payload=boxes), linkage, ["time-profile-error"])
    errors = []
    for hours in itertools.product((0, 1), (5, 6), (0, 1), (5, 6)):
        shares = Counter(hours)
        errors.append(sum(abs(shares[h] / 4 - Counter([0, 5, 0, 5])[h] / 4) for h in range(24)) / 2)
    value = measured.result
    assert value.low is not None
    assert value.high is not None
    assert (value.low, value.high) == pytest.approx((min(errors), max(errors)))
    assert value.low < value.value < value.high


@given(populations(most=6))
def test_bounds_of_hours_hold_the_truth(people: Trajectories) -> None:
    """The raw samples are one of the worlds of boxes that hold one sample each.

    Its distance, nothing, must lie within the bounds.
    """
    crowds = []
    rng = np.random.default_rng(people.n_samples)
    for i in range(people.n_subjects):
        t, x, y = people.samples_of(i)
        own = Boxes.of_samples(t, x, y)
        wider = {name: rng.integers(0, 40, len(t)) for name in BOX_COLUMNS}
        signed = {
            name: -wider[name] if name in {"t_start", "x_min", "y_min"} else wider[name]
            for name in BOX_COLUMNS
        }
        wide = {name: getattr(own, name) + signed[name] for name in BOX_COLUMNS}
        wide |= {
            "t_start": own.t_start,
            "t_end": own.t_start + 1 + wider["t_end"],
        }  # the day of a trip is that of the box's start
        crowds.append(EquivalenceClass(members=np.array([i]), boxes=Boxes(**wide).sorted()))
    release, linkage = assemble(people, crowds, stating(KAnonymity(k=2), "none"), Randomness.from_system())
    profile, true = time_profile(release), time_profile(people).expected
    assert (profile.minimum <= true + 1e-9).all()
    assert (true <= profile.maximum + 1e-9).all()
    assert profile.expected.sum() == pytest.approx(1)
    found = {one.name: one.result for one in measure(people, release, linkage, ["time-profile-error"])}
    low = found["time-profile-error"].low
    assert low is not None
    assert low <= 1e-9


def test_by_hand_the_hours_of_boxes() -> None:
    people = Trajectories.from_rows(["a", "b"], [0, 5], [0, 0], [0, 0], grid=Grid(cell_m=1, slot_s=60))
    hours = [(30, 120), (23 * 60, 25 * 60), (0, 3 * 1440), (61, 62)]
    boxes = Boxes(**dict(zip(BOX_COLUMNS, np.array([[a, b, 0, 0, 1, 1] for a, b in hours]).T, strict=True)))
    release, _ = unchanged(people)
    found = time_profile(replace(release, payload=boxes, trajectory_ids=("r",), offsets=np.array([0, 4])))
    assert (found.minimum * 4).tolist() == [0, 1] + [0] * 22
    assert (found.maximum * 4).tolist() == [3, 3] + [1] * 21 + [2]
    assert (found.expected * 4)[:2] == pytest.approx([1 / 3 + 1 / 2 + 1 / 24, 2 / 3 + 1 / 24 + 1])


def test_rank_correlation_known_values() -> None:
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([10.0, 20, 99])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.9486833)
    assert np.isnan(rank_correlation(np.ones(3), np.arange(3.0)))


@given(populations(most=8))
def test_every_metric_answers_for_any_people(people: Trajectories) -> None:
    measured = measure(people, *naive_release(people))
    assert len(measured) == len(OF_BOXES)
    for found in measured:
        assert found.to_json().keys() >= {"name", "value", "unit", "better", "words"}
        value = found.result.value
        if (
            found.metric.unit == "share"
            and not np.isnan(value)
            and found.name not in {"visits-error", "range-error"}
        ):
            assert -1e-9 <= value <= 1 + 1e-9


def test_zones_of_data_in_one_cell() -> None:
    people = Trajectories.from_rows(["a", "b"], [0, 5], [3, 3], [4, 4], grid=Grid())
    assert len(Zones.over(people, 100.0)) == 1
    assert values(people, *unchanged(people))["visits-error"] == 0


def test_a_row_is_all_that_a_metric_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy metric of both payloads is measured, printed as JSON and shown in both records."""

    def samples_per_record(facts: Facts) -> Value:
        return Value(value=facts.release.n_samples / facts.release.n_records)

    toy = Metric(
        name="toy-samples",
        question="samples of a toy record",
        unit="1",
        better="higher",
        source="this test",
        function=samples_per_record,
        in_record_of=("boxes", "points"),
    )
    monkeypatch.setitem(METRICS, "toy-samples", toy)
    people = random_people(30, 8, seed=1)
    walkers = crowd(24)
    cases = [
        (people, *naive_release(people)),
        (walkers, *shoal.SwapLocations(k=3).anonymize(walkers, Randomness.for_research(1))),
    ]
    shown = []
    for original, release, linkage in cases:
        (found,) = (
            one
            for one in measure(original, release, linkage).to_json()["measurements"]
            if one["name"] == "toy-samples"
        )
        assert (found["words"], found["unit"], found["better"]) == (toy.question, "1", "higher")
        page = record_of(original, release, linkage, shoal.verify(original, release, linkage), ())
        assert toy.question in page
        assert 'id="fact-utility-toy-samples"' in page
        shown.append(release.kind)
    assert shown == ["boxes", "points"]


def test_points_are_measured_as_given_and_on_a_grid() -> None:
    original = crowd(24)
    release, linkage = shoal.SwapLocations(k=3).anonymize(original, Randomness.for_research(1))
    found = measure(original, release, linkage).to_json()
    on_grid = measure(original.snapped_to(Grid()), release.as_boxes(Grid()), linkage).to_json()
    of_both = [one for one in on_grid["measurements"] if one["name"] in metrics_of_every_release()]
    assert found["measurements"] == of_both
    assert "points" not in on_grid
    assert found["points"] == measure_points(original, release, linkage).to_json()


def test_misuse_is_said() -> None:
    people = random_people(10, 6)
    release, linkage = naive_release(people)
    with pytest.raises(MisuseError, match="'total-distortion' cannot be asked of boxes; choose from samples"):
        measure(people, release, linkage, ["total-distortion"])
    with pytest.raises(MisuseError, match="choose from"):
        measure(people, release, linkage, ["beauty"])
    with pytest.raises(InputError, match="misses"):
        measure(random_people(12, 6), release, linkage)
    with pytest.raises(InputError, match="protects"):
        measure(people, replace(release, unit_of_protection="each vehicle"), linkage)
    empty = replace(release, trajectory_ids=(), offsets=np.zeros(1, np.int64), payload=Boxes.concatenate([]))
    with pytest.raises(InputError, match="no record"):
        measure(people, empty, Linkage((), ()))
