"""Space distortion and range queries against slow ones; adversaries with exact triples and times.

The folder with its origins.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.attacks import Rate, attack
from shoal.errors import InputError
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility.points import measure_points
from small_points import crowd, drivers, town

pytestmark = pytest.mark.kernels


def swapped(k: int = 3) -> tuple[Trajectories, shoal.Release, shoal.Linkage]:
    original = crowd()
    return original, *SwapLocations(k=k).anonymize(original, Randomness.for_research(2))


def test_space_distortion_follows_the_definition() -> None:
    original, release, linkage = swapped()
    total, undefined = 0.0, 0
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    for uid, (t, x, y) in zip(original.ids, original, strict=True):
        if uid not in record_of:
            undefined += len(t)
            continue
        points = release.record(release.trajectory_ids.index(record_of[uid]))
        for i in range(len(t)):
            if not points.t[0] <= t[i] <= points.t[-1]:
                undefined += 1
                continue
            at = int(np.flatnonzero(points.t <= t[i])[-1])
            share = 0.0 if points.t[at] == t[i] else (t[i] - points.t[at]) / (points.t[at + 1] - points.t[at])
            other = min(at + 1, len(points) - 1)
            total += float(
                np.hypot(
                    points.x[at] + share * (points.x[other] - points.x[at]) - x[i],
                    points.y[at] + share * (points.y[other] - points.y[at]) - y[i],
                )
            )
    found = measure_points(original, release, linkage)
    assert found.total_distortion_m == pytest.approx(total)
    assert found.defined == original.n_samples - undefined
    assert found.removed_locations == release.losses.samples_suppressed / original.n_samples
    assert found.removed_trajectories == release.losses.subjects_suppressed / original.n_subjects
    same = [
        float(np.hypot(record.x[stamped] - x, record.y[stamped] - y).mean())
        for uid, samples in zip(original.ids, original, strict=True)
        if uid in record_of
        for record in [release.record(release.trajectory_ids.index(record_of[uid]))]
        for t, x, y in zip(*samples, strict=True)
        if len(stamped := np.flatnonzero(record.t == t))
    ]
    assert 0 < len(same) == found.at_same_times < found.defined  # times move with their places
    assert found.total_at_same_times_m == pytest.approx(sum(same))


def rates_of(
    original: Trajectories, release: shoal.Release, linkage: shoal.Linkage, knowledge: str
) -> dict[tuple[str, str], Rate]:
    found = attack(original, release, linkage, knowledge=[knowledge], rng=Randomness.for_research(1))
    return {(rate.name, rate.target): rate for rate in found.rates}


@pytest.mark.jit_only
def test_exact_triples_link_one_in_k_and_exact_times_link_where_times_stay() -> None:
    """With k = 4 a quarter of the victims' triples stay.

    On ReachLocations times that nobody shares find every record.
    """
    original = crowd(60, 60, spread_s=20)
    release, linkage = SwapLocations(k=4).anonymize(original, Randomness.for_research(1))
    rates = rates_of(original, release, linkage, "triples:1")
    assert rates["triples-linkage", "raw"].rate == 1
    assert rates["triples-disclosure", "raw"].rate == 1
    assert rates["triples-linkage", "release"].low < 1 / 4
    assert rates["triples-disclosure", "release"].low < 1 / 4
    streets = town()
    walks = drivers(streets, 30, 20)
    walks = replace(walks, t=walks.t + np.repeat(np.arange(30), walks.lengths) / 100)  # nobody shares a time
    case = ReachLocations(k=4, streets=streets, space_threshold_m=1000).anonymize(
        walks, Randomness.for_research(1)
    )
    known = rates_of(walks, *case, "times:4")
    assert known["times-linkage", "release"].rate > 0.95
    assert known["times-disclosure", "release"].low < 1 / 4


@pytest.mark.jit_only
def test_origins_survive_the_file_and_verify(tmp_path: Path) -> None:
    original = crowd()
    link = tmp_path / "secret" / "linkage.parquet"
    published = shoal.publish(
        original, SwapLocations(k=3), tmp_path / "release", rng=Randomness.from_system(), linkage_file=link
    )
    assert (link.parent / "origin.parquet").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == [
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    read = shoal.read_linkage(link)
    kept = published.linkage.trace
    assert read.trace is not None
    assert kept is not None
    for name in ("time_from", "place_from"):
        assert np.array_equal(getattr(read.trace, name), getattr(kept, name))
    verdict = shoal.verify_folder(original, tmp_path / "release", read)
    assert verdict.holds, verdict.findings
    assert any("shuffle was fair" in note for note in verdict.notes)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["claim"] == {
        "type": "trajectory-p-privacy",
        "k": 3,
        "time_threshold_s": 100.0,
        "space_threshold_m": 1e6,
    }
    page = (tmp_path / "release" / "report.html").read_text()
    assert "trajectory p-privacy, p = 1/3" in page
    assert "can be joined, and make a true movement again" in " ".join(page.split())


def test_broken_origins_are_refused_and_nothing_is_shown() -> None:
    _, release, linkage = swapped()
    trace = linkage.trace
    assert trace is not None
    table = trace.table(release.trajectory_ids, release.offsets)
    assert np.array_equal(Trace.of_table(table, "here").set_rows, trace.set_rows)
    with pytest.raises(InputError, match="cannot be read as the origins"):
        Trace.of_table(table.drop_columns(["place_from"]), "here")
    assert "walker" not in repr(trace)
    assert "walker" not in repr(linkage)
