"""The main job on real movement.

Releases of the taxi day hold at k = 2 and k = 5, and damages to them are found.
"""

from pathlib import Path

import numpy as np
import pytest

import shoal
from damages import DAMAGES
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run


@pytest.fixture
def cabs(shared_data: Path) -> Trajectories:
    """Every tenth cab, which keeps the test short; the whole day is measured in docs/glove.md."""
    every = shoal.read(shared_data / "sf_cabs_day_20080603.parquet")
    return every.keep(np.arange(0, every.n_subjects, 10))


def test_the_taxi_day(cabs: Trajectories, tmp_path: Path) -> None:
    published = shoal.publish(
        cabs, shoal.Glove(k=5), tmp_path / "release", rng=Randomness.from_system(), run=Run()
    )
    assert shoal.verify_folder(cabs, tmp_path / "release", published.linkage).holds
    assert isinstance(published.release, shoal.Release)
    assert published.release.losses.samples_suppressed == 0
    for damage in (each for each in DAMAGES if isinstance(published.release.claim, each.claims)):
        verdict = shoal.verify(*damage.applied_to(cabs, published.release, published.linkage))
        assert damage.expected_kind in verdict.kinds, damage.name


@pytest.mark.parametrize("name", ["geolife_5min", "oldenburg_brinkhoff_1000"])
def test_other_real_and_simulated_movement(name: str, shared_data: Path) -> None:
    every = shoal.read(shared_data / f"{name}.parquet")
    some = every.keep(np.flatnonzero(every.lengths < 400)[:80])
    release, linkage = shoal.Glove(k=3).anonymize(some, Randomness.from_system())
    verdict = shoal.verify(some, release, linkage)
    assert verdict.holds, verdict.findings
