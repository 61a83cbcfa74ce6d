"""The same promises for every method that publishes points.

It verifies, every damage is found, a folder round-trips, nothing leaks.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import comparator_oracles as oracles
import shoal
import shoal.attacks
import shoal.model.release
from claim_check import verdict_on_claim
from command_line import Shoal
from point_damages import POINT_DAMAGES, PointDamage, delta_of, records_of
from shoal.attacks.attacking import AttackScope
from shoal.methods import METHODS, Method
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.runtime.randomness import Randomness
from small_points import points_only, table_of_fleet

VARIANTS: dict[str, Callable[[], Method]] = {
    "nwa": partial(shoal.Nwa, k=3, delta_m=800, pi_s=900, step_s=300),
    "nwa, delta 0": partial(shoal.Nwa, delta_m=0, pi_s=900, step_s=300),
    "w4m": partial(shoal.W4m, k=2),
    "w4m, edr": partial(shoal.W4m, k=3, distance="edr", chunk=8),
}

variants = pytest.mark.parametrize("name", VARIANTS)


def anonymized(name: str, seed: int = 3) -> tuple[Trajectories, Release, Linkage]:
    original = shoal.read(table_of_fleet(seed=seed), snap=False)
    release, linkage = VARIANTS[name]().anonymize(original, Randomness.from_system())
    assert release.kind == "points"
    return original, release, linkage


@cache
def small_release(name: str) -> tuple[Trajectories, Release, Linkage]:
    """One release for all its damages: each makes a copy of what it changes."""
    return anonymized(name)


def test_every_method_of_points_is_tried() -> None:
    tried = {type(make()) for make in VARIANTS.values()}
    assert {METHODS[name] for name in ("nwa", "w4m")} <= tried


@variants
@pytest.mark.parametrize("seed", range(3))
def test_what_is_published_keeps_its_claim(name: str, seed: int) -> None:
    original, release, linkage = anonymized(name, seed)
    verdict = shoal.verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    assert shoal.verify(original, release).word == "NOT CHECKED"
    records = records_of(release)
    assert isinstance(release.claim, KDeltaAnonymity)
    for own in range(len(records)):
        assert oracles.has_company(records, own, release.claim.k, release.claim.delta_m)


@variants
@pytest.mark.parametrize("damage", POINT_DAMAGES, ids=lambda damage: damage.name)
def test_every_damage_is_found(name: str, damage: PointDamage) -> None:
    case = small_release(name)
    if not damage.concerns(case[1].claim):
        pytest.skip(f"this claim does not promise what '{damage.name}' breaks")
    if damage.name == "smaller delta" and not delta_of(case[1]):
        pytest.skip("delta is 0 already")
    verdict = shoal.verify(*damage.applied_to(*case))
    assert damage.expected_kind in verdict.kinds, verdict.findings


@variants
def test_folder_round_trips(name: str, tmp_path: Path) -> None:
    original = shoal.read(table_of_fleet(), snap=False)
    published = shoal.publish(
        original,
        VARIANTS[name](),
        tmp_path / "release",
        rng=Randomness.from_system(),
        linkage_file=tmp_path / "l.parquet",
    )
    read = shoal.read_release(tmp_path / "release")
    assert read.kind == "points"
    assert isinstance(published.release, Release)
    for column, values in published.release.points.columns().items():
        np.testing.assert_array_equal(read.points.columns()[column], values)
    assert (read.claim, read.losses, read.crs) == (
        published.release.claim,
        published.release.losses.rounded(),
        published.release.crs,
    )
    assert shoal.verify_folder(
        original, tmp_path / "release", shoal.read_linkage(tmp_path / "l.parquet")
    ).holds
    for path in (tmp_path / "release").iterdir():
        assert not any(uid.encode() in path.read_bytes() for uid in original.ids)
    page = (tmp_path / "release" / "report.html").read_text()
    assert "not k-anonymity of trajectories" in page
    assert "Trujillo-Rasua and Domingo-Ferrer" in page


def test_from_file_to_release_and_attack_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(table_of_fleet(), tmp_path / "fleet.parquet")
    call = Shoal(capsys)
    words = (
        "--method",
        "w4m",
        "--k",
        2,
        "--delta",
        "500m",
        "--output",
        tmp_path / "r",
        "--linkage",
        tmp_path / "l.parquet",
    )
    outcome = call("anonymize", tmp_path / "fleet.parquet", *words, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["claim"] == {
        "type": "k-delta-anonymity",
        "k": 2,
        "delta_m": 500.0,
    }
    assert (
        call("verify", tmp_path / "fleet.parquet", tmp_path / "r", "--linkage", tmp_path / "l.parquet").code
        == 0
    )
    attack = ("attack", tmp_path / "fleet.parquet", tmp_path / "r", "--linkage", tmp_path / "l.parquet")
    assert call(*attack, "--knowledge", "noisy:4:100m:1min", "--json").code == 0
    assert (
        "leave out --cell and --slot"
        in call("anonymize", tmp_path / "fleet.parquet", *words[:2], "--cell", "1km", *words[6:8]).err
    )
    assert (
        "w4m knows no --pi"
        in call("anonymize", tmp_path / "fleet.parquet", *words[:2], "--pi", "1h", *words[6:8]).err
    )


def co_location_verdict(original: Trajectories, release: Release) -> Verdict:
    return verdict_on_claim(original, release, None)


places = st.integers(0, 4).map(float)


@given(
    walks=st.lists(
        st.tuples(st.sampled_from([0, 0, 0, 1]), st.lists(st.tuples(places, places), min_size=2, max_size=2)),
        min_size=1,
        max_size=8,
    ),
    k=st.integers(2, 4),
    delta_m=st.sampled_from([0.0, 1.0, 1.5, 3.0]),
)
def test_company_is_what_trying_all_sets_finds(
    walks: list[tuple[int, list[tuple[float, float]]]], k: int, delta_m: float
) -> None:
    records = [[(float(start + step), x, y) for step, (x, y) in enumerate(walk)] for start, walk in walks]
    original, release = points_only(records, k, delta_m)
    found = {finding.trajectory_id for finding in co_location_verdict(original, release).findings}
    alone = {
        release.trajectory_ids[own]
        for own in range(len(records))
        if not oracles.has_company(records, own, k, delta_m)
    }
    assert found == alone


def test_others_who_change_or_do_not_keep_together_are_no_company() -> None:
    changing = [
        [(0, 0, 0), (1, 0, 0)],
        [(0, 1, 0), (1, 9, 0)],
        [(0, 9, 0), (1, 1, 0)],
        [(0, 9, 1), (1, 9, 1)],
    ]
    verdict = co_location_verdict(
        *points_only([[(float(t), float(x), float(y)) for t, x, y in record] for record in changing], 2, 2.0)
    )
    assert [finding.kind for finding in verdict.findings] == ["company-changes"] * 4
    between = [
        [(0.0, 0.0, 0.0)],
        [(0.0, 2.0, 0.0)],
        [(0.0, 4.0, 0.0)],
    ]  # the middle one is near both, who are not near each other
    kinds = {
        finding.trajectory_id: finding.kind
        for finding in co_location_verdict(*points_only(between, 3, 2.0)).findings
    }
    assert sorted(kinds.values()) == ["alone-at-a-time", "alone-at-a-time", "company-changes"]


@pytest.mark.parametrize(
    "method",
    [
        shoal.Nwa(k=3, delta_m=2000, pi_s=60, step_s=60, trash=0),
        shoal.W4m(k=3, delta_m=2000, trash=0),
    ],
    ids=lambda method: method.about.name,
)
def test_co_location_does_not_keep_anybody_from_being_linked(method: Method) -> None:
    """Trujillo-Rasua and Domingo-Ferrer 2013.

    Who are near each other already are published as they are, and one point tells them apart.
    """
    rng = np.random.default_rng(1)
    fixes = np.arange(20.0)
    walks = [
        [(60 * t, 300.0 * t + aside, north) for t in fixes] for aside, north in rng.uniform(0, 400, (6, 2))
    ]
    ids, t, x, y = zip(
        *((f"person {i}", *point) for i, walk in enumerate(walks) for point in walk), strict=True
    )
    original = Trajectories.from_rows(ids, t, x, y)
    release, linkage = method.anonymize(original, Randomness.from_system())
    assert shoal.verify(original, release, linkage).holds
    found = shoal.attacks.attack(
        original,
        release,
        linkage,
        knowledge=["nearest:1"],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"]),
    )
    assert [rate.rate for rate in found.rates] == [1.0]
    snapped, grid = original.snapped_to(shoal.Grid(cell_m=1)), shoal.Grid(cell_m=1)
    rates = shoal.attacks.attack(
        snapped, release.as_boxes(grid), linkage, knowledge=["points:1"], rng=Randomness.for_research(1)
    ).rates
    # where k-anonymity would leave 1/3
    assert {rate.rate for rate in rates if rate.target == "release"} == {1.0}
