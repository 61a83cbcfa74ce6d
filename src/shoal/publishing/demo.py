"""The main job without a download: a synthetic city, assessed, anonymized, verified and reported on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shoal.io import read
from shoal.measures.k_gap import KGap
from shoal.methods.glove.glove import Glove
from shoal.publishing.publish import Publication, assess, publish
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_folder
from shoal.synthetic import write_synthetic

SUBJECTS: Final = 1000
DAYS: Final = 7
K: Final = 2
SEED: Final = 1  # of the city, which is no secret; the release itself draws from the operating system


@dataclass(frozen=True, eq=False, kw_only=True)
class Demonstration:
    """Where everything lies, and what came out."""

    city: Path
    assessment: Path
    linkage: Path
    gaps: list[KGap]
    publication: Publication


def demonstrate(output: Path, run: Run) -> Demonstration:
    """Fill a new folder with the city's raw data, its assessment, the linkage and the release folder."""
    with staged_folder(output) as staging:
        write_synthetic(staging / "city.parquet", SUBJECTS, DAYS, SEED, run=run)
        original = read(staging / "city.parquet", run=run)
        gaps = assess(original, (2, 5), run, staging / "assessment.html")
        publication = publish(
            original,
            Glove(k=K),
            staging / "release",
            rng=Randomness.from_system(),
            run=run,
            linkage_file=staging / "linkage.parquet",
            private_report=staging / "private-report.html",
        )
    return Demonstration(
        city=output / "city.parquet",
        assessment=output / "assessment.html",
        linkage=output / "linkage.parquet",
        gaps=gaps,
        publication=replace(publication, folder=output / "release"),
    )
