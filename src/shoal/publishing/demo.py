"""``shoal demo``: synthesize, read, anonymize, verify and attack the calls of a synthetic city."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.questions import TRIES
from shoal.io import read
from shoal.messages import program
from shoal.methods.glove.glove import RECOMMENDED, Glove
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.publish import Publication, publish
from shoal.publishing.writing import PublishOptions, write_page
from shoal.report.pages.assessment import assessment_report
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_folder
from shoal.synthetic import write_synthetic
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy, measure_accuracy

SUBJECTS: Final = 1000
DAYS: Final = 7
K: Final = 5
K_BESIDE: Final = 2
KNOWLEDGE: Final = ("points:4",)
SEED: Final = 1  # of the city, which is no secret; the release itself draws from the operating system


FILES: Final[tuple[tuple[str, bool, str], ...]] = (  # everything that is written: where, whether secret, what
    ("release/report.html", False, "the report of the release: open this first"),
    ("release/release.parquet", False, "the release itself, for QGIS, GeoPandas, DuckDB"),
    ("release/manifest.json", False, "claim, parameters, losses and verdict, for programs"),
    ("private-report.html", True, "the same report with one crowd before and after"),
    ("assessment.html", True, "how exposed these people were before"),
    ("city.parquet", True, "the raw data, of people who do not exist"),
    ("linkage.parquet", True, "who became which record"),
)


def ending(folder: Path) -> list[str]:
    """Every file of a demonstration, which are secret, and what to do next."""
    width = max(len(name) for name, _, _ in FILES)
    city, release, links = (
        shlex.quote(str(folder / name)) for name in ("city.parquet", "release", "linkage.parquet")
    )
    shoal = program()
    return [
        f"everything lies in {folder}; of your own data, what is marked secret would stay with you:",
        *(f"  {name:{width}}  {'secret ' if secret else 'public '} {what}" for name, secret, what in FILES),
        f"open {folder / 'release/report.html'} in a browser, then try:",
        f"  {shoal} verify {city} {release} --linkage {links}",
        f"  {shoal} attack {city} {release} --linkage {links} --knowledge insider",
        f"  {shoal} inspect YOUR-FILE.csv",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class AtK:
    """What crowds of k keep of places and times, and how often attacks won."""

    k: int
    accuracy: Accuracy
    rates: tuple[Rate, ...]
    cautions: tuple[str, ...]


def demonstrate(output: Path, run: Run) -> tuple[Publication, tuple[AtK, ...]]:
    """Fill a new folder with raw data, assessment, linkage and release; and what crowds of k are worth."""
    with staged_folder(output) as staging:
        write_synthetic(staging / "city.parquet", SUBJECTS, DAYS, SEED, run=run)
        original = read(staging / "city.parquet", run=run)
        publication = publish(
            original,
            _method(K),
            staging / "release",
            rng=Randomness.from_system(),
            run=run,
            linkage_file=staging / "linkage.parquet",
            options=PublishOptions(private_report=staging / "private-report.html"),
        )
        facts = publication.facts or Facts(original, publication.release, publication.linkage, run=run)
        gaps = list(facts.gaps)  # of everyone: so few people are not sampled
        write_page(assessment_report(original, gaps), staging / "assessment.html")
        rng = Randomness.from_system()
        at_small_k = _method(K_BESIDE).anonymize(original, rng, run)
        at_k = tuple(
            _at_k(original, release, linkage, rng, run)
            for release, linkage in ((publication.release, publication.linkage), at_small_k)
        )
    return replace(publication, folder=output / "release"), at_k


def _method(k: int) -> Glove:
    """Better crowds, and boxes whose edges give no place away: of some use, and less risk."""
    return Glove(k=k, refine=True, hull=RECOMMENDED["hull"])


def _at_k(original: Trajectories, release: Release, linkage: Linkage, rng: Randomness, run: Run) -> AtK:
    attacked = attack(
        original,
        release,
        linkage,
        rng=rng,
        knowledge=KNOWLEDGE,
        tries=TRIES,
        scope=AttackScope(targets=["release"]),
        run=run,
    )
    return AtK(
        k=release.claim.k,
        accuracy=measure_accuracy(original, release, linkage),
        rates=attacked.rates,
        cautions=release.claim.cautions,
    )
