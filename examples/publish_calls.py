"""The whole job from Python, on people who do not exist: assess, anonymize, verify, and damage a release.

python examples/publish_calls.py [FOLDER]
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import shoal


def main(folder: Path) -> None:
    calls = shoal.read(shoal.synthesize(n_subjects=200, days=3, seed=7))
    gaps = shoal.k_gap(calls, 2)
    print(
        f"{calls.n_subjects} people; median 2-gap {np.median(gaps.gap):.3f}, "
        f"{np.mean(gaps.gap == 0):.0%} already hidden"
    )

    published = shoal.publish(
        calls,
        shoal.Glove(k=2, suppress_space_m=15_000, suppress_time_s=6 * 3600),
        folder / "release",
        rng=shoal.Randomness.from_system(),
        linkage_file=folder / "linkage.parquet",
    )
    losses = published.release.losses
    print(
        f"{published.release.n_records} records written; "
        f"{losses.samples_suppressed} of {calls.n_samples} samples suppressed"
    )

    release = shoal.read_release(folder / "release")
    boxes = replace(release.boxes, x_max=release.boxes.x_max + 1)
    damaged = shoal.verify(calls, replace(release, payload=boxes), published.linkage)
    print(f"widened by one cell, it is refused: {sorted(damaged.kinds)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
