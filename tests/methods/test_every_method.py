"""The same promises for every method.

What it publishes verifies, every damage to it is found, a folder round-trips, nothing leaks.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject

import shoal
from damages import DAMAGES, Damage
from example_counts import examples
from leaf_data import with_places
from naive_release import PLANE, small_city
from shoal.errors import NothingLeftError
from shoal.methods import METHODS, Method
from shoal.methods.glove.greedy import GENERALIZE
from shoal.model.release import BOX_COLUMNS
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_data import population, populations

pytestmark = pytest.mark.kernels

VARIANTS: dict[str, Callable[[], Method]] = {
    **{name: partial(method, k=2) for name, method in METHODS.items() if method.about.publishes == "boxes"},
    "kte-hide": partial(
        shoal.KteHide, tau_s=4 * 3600, epsilon_s=4 * 3600
    ),  # the small city has no crowd in any half hour
    "kte-hide, clusters": partial(shoal.KteHide, tau_s=4 * 3600, epsilon_s=4 * 3600, hiding="clusters"),
    "kte-hide, whole span": partial(shoal.KteHide, k=3, tau_s=24 * 3600, epsilon_s=12 * 3600),
    **{f"glove, {reading}": partial(shoal.Glove, k=2, generalize=reading) for reading in GENERALIZE},
    "static": partial(
        shoal.StaticGeneralization, k=2, grid_m=100_000, slot_s=104 * 3600
    ),  # this slot ends within the small city
    "glove, outward": partial(shoal.Glove, k=2, hull="outward:3"),
    "glove, to a grid": partial(shoal.Glove, k=2, hull="grid:500m"),
    "glove, overlaps, outward": partial(shoal.Glove, k=2, generalize="none", hull="outward:3"),
    "kte-hide, to a grid": partial(shoal.KteHide, tau_s=4 * 3600, epsilon_s=4 * 3600, hull="grid:500m"),
    "kte-hide, hiders stay": partial(shoal.KteHide, k=2, hiders="stay"),
    "glove, leaves": partial(shoal.Glove, k=2, hull="leaves:3"),
    "kte-hide, leaves": partial(shoal.KteHide, tau_s=4 * 3600, epsilon_s=4 * 3600, hull="leaves:3"),
    "glove, k = 3": lambda: shoal.Glove(k=3),
    "glove, with suppression": lambda: shoal.Glove(k=2, suppress_space_m=9_000, suppress_time_s=4 * 3600),
    "glove, leftover suppressed": lambda: shoal.Glove(k=3, leftover="suppress"),
}

variants = pytest.mark.parametrize("name", VARIANTS)
# damages are about the verifier: with the jit switched off one variant of each claim says what its loops do
each_claim_without_jit = pytest.mark.parametrize(
    "name", [name if name in METHODS else pytest.param(name, marks=pytest.mark.jit_only) for name in VARIANTS]
)


def read_for(name: str, original: Trajectories) -> Trajectories:
    """Read with a public list of places, for leaves."""
    return with_places(original) if "leaves" in name else original


def anonymized(name: str, original: Trajectories) -> tuple[Trajectories, shoal.Release, shoal.Linkage]:
    original = read_for(name, original)
    release, linkage = VARIANTS[name]().anonymize(original, Randomness.from_system())
    assert isinstance(release, shoal.Release)
    return original, release, linkage


@cache
def small_release(name: str) -> tuple[Trajectories, shoal.Release, shoal.Linkage]:
    """One release of the small city for all its damages: each makes a copy of what it changes."""
    return anonymized(name, small_city())


@variants
@examples(0.5)
@given(original=populations(least=3, most=8))
def test_what_is_published_keeps_its_claim(name: str, original: Trajectories) -> None:
    try:
        case = anonymized(name, original)
    except NothingLeftError:
        reject()
    verdict = shoal.verify(*case)
    assert verdict.holds, verdict.findings


@pytest.mark.jit_only
@variants
def test_longer_fingerprints_keep_their_claim(name: str) -> None:
    original = population([50, 80, 30, 30, 65, 44, 51, 50, 20], seed=6, places=9, slots=12_000)
    verdict = shoal.verify(*anonymized(name, original))
    assert verdict.holds, verdict.findings


@each_claim_without_jit
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_every_damage_is_found(name: str, damage: Damage) -> None:
    case = small_release(name)
    if not damage.concerns(case[1].claim):
        pytest.skip(f"this claim does not promise what '{damage.name}' breaks")
    verdict = shoal.verify(*damage.applied_to(*case))
    assert damage.expected_kind in verdict.kinds, verdict.findings


@pytest.mark.jit_only
@variants
def test_counts_of_losses_are_true(name: str) -> None:
    original, release, linkage = anonymized(name, small_city(11))
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    lost = 0
    for uid, samples in zip(original.ids, original, strict=True):
        boxes = (
            []
            if uid not in record_of
            else list(
                zip(*release.record(release.trajectory_ids.index(record_of[uid])).columns(), strict=True)
            )
        )
        for t, x, y in zip(*samples, strict=True):
            lost += not any(b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5] for b in boxes)
    assert release.losses.samples_suppressed == lost
    assert release.losses.subjects_suppressed == original.n_subjects - len(linkage.uids)


@pytest.mark.jit_only
@variants
def test_folder_round_trips(name: str, tmp_path: Path) -> None:
    original = read_for(name, small_city(crs=PLANE))
    published = shoal.publish(
        original,
        VARIANTS[name](),
        tmp_path / "release",
        rng=Randomness.from_system(),
        linkage_file=tmp_path / "l.parquet",
    )
    assert isinstance(published.release, shoal.Release)
    read = shoal.read_release(tmp_path / "release")
    assert read.trajectory_ids == published.release.trajectory_ids
    for column in BOX_COLUMNS:
        assert np.array_equal(getattr(read.boxes, column), getattr(published.release.boxes, column))
    made = published.release
    assert (read.claim, read.losses, read.grid, read.crs) == (
        made.claim,
        made.losses.rounded(),
        made.grid,
        made.crs,
    )
    verdict = shoal.verify_folder(original, tmp_path / "release", shoal.read_linkage(tmp_path / "l.parquet"))
    assert verdict.holds, verdict.findings


@pytest.mark.jit_only
@variants
def test_no_identifier_in_any_file(name: str, tmp_path: Path) -> None:
    original = read_for(name, small_city(crs=PLANE))
    shoal.publish(original, VARIANTS[name](), tmp_path / "release", rng=Randomness.from_system())
    written = {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()}
    assert len(written) == 3
    assert not [name for name, data in written.items() for uid in original.ids if uid.encode() in data]
