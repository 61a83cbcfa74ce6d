"""The main job without a download: a synthetic city, assessed, anonymized, verified and reported on.

The release hides everybody among 5. What hiding among 2 would keep and give away is measured beside it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shoal.attacks import Rate, attack
from shoal.io import read
from shoal.measures.k_gap import KGap
from shoal.methods.glove.glove import Glove
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.publish import Publication, assess, publish
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_folder
from shoal.synthetic import write_synthetic
from shoal.utility.accuracy import Accuracy, measure_accuracy

SUBJECTS: Final = 1000
DAYS: Final = 7
K: Final = 5
K_BESIDE: Final = 2
KNOWLEDGE: Final = ("points:4",)
TRIES: Final = 200
SEED: Final = 1  # of the city, which is no secret; the release itself draws from the operating system


@dataclass(frozen=True, eq=False, kw_only=True)
class AtK:
    """What a release with crowds of k keeps of places and times, and how often attacks won."""

    k: int
    accuracy: Accuracy
    rates: tuple[Rate, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Demonstration:
    """Where everything lies, and what came out."""

    city: Path
    assessment: Path
    linkage: Path
    gaps: list[KGap]
    publication: Publication
    at_k: tuple[AtK, ...]


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
        rng = Randomness.from_system()
        beside = Glove(k=K_BESIDE).anonymize(original, rng, run)
        at_k = tuple(
            _at_k(original, release, linkage, rng, run)
            for release, linkage in ((publication.release, publication.linkage), beside)
        )
    return Demonstration(
        city=output / "city.parquet",
        assessment=output / "assessment.html",
        linkage=output / "linkage.parquet",
        gaps=gaps,
        publication=replace(publication, folder=output / "release"),
        at_k=at_k,
    )


def _at_k(original: Trajectories, release: Release, linkage: Linkage, rng: Randomness, run: Run) -> AtK:
    found = attack(
        original,
        release,
        linkage,
        rng=rng,
        knowledge=KNOWLEDGE,
        tries=TRIES,
        targets=["release"],
        run=run,
    )
    return AtK(
        k=release.claim.k,
        accuracy=measure_accuracy(original, release, linkage),
        rates=found.rates,
        cautions=release.claim.cautions,
    )
