"""A release in memory; the written files must hold it exactly, or are checked again."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.attacks.rate import Rate
from shoal.model.argument_checks import require_one_region
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.publishing.writing import Candidate, PublicationJob, require_holds, write_manifest_of
from shoal.release_folder.manifest import RELEASE_FILE, Manifest
from shoal.release_folder.tables import write_table
from shoal.report.facts.evidence import Evidence, publishable_rate
from shoal.report.facts.ground import NO_GROUND, MapGround, bounds_around
from shoal.report.pages.record import record_page
from shoal.runtime.checkpoint import Checkpoint, digest_of, parts_folder
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.staging import staged_folder
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy
from shoal.utility.usefulness import Usefulness
from shoal.verification.checks import verdict_on
from shoal.verification.files.folder import FolderReading, read_folder, verify_reading, with_new_page
from shoal.verification.leaks.raw_identifiers import RawIdentifiers


@contextmanager
def anonymize_at_once(original: Trajectories, job: PublicationJob) -> Iterator[Candidate]:
    """Anonymize and verify in memory; the release folder gets its name when the ``with`` block succeeds."""
    require_one_region(original.intake.notes)
    require_ground_over(original, job.options.ground)
    run, parts = job.run, parts_folder(job.output)
    resumable = job.options.resume
    finished_parts = (
        Checkpoint.until_done(parts, _identity(job, original)) if resumable else nullcontext(run.checkpoint)
    )
    with finished_parts as checkpoint, staged_folder(job.output) as staging:
        run = replace(run, checkpoint=checkpoint)
        with run.stage("method"):
            anonymizer = job.series or job.method
            release, linkage = anonymizer.anonymize(original, job.rng, run)
            release_idle_memory()
        with run.stage("check"):
            identifiers = RawIdentifiers.of(original)
            verdict = verdict_on(original, release, linkage, run=run, raw_identifiers=identifiers)
            release_idle_memory()
        require_holds(verdict)
        facts = Facts(original, release, linkage, run=run, exact=job.options.exact_figures)
        yield CandidateInMemory(facts, verdict, identifiers, staging, job)


class CandidateInMemory:
    """A release in memory, whose claim holds."""

    def __init__(
        self, facts: Facts, verdict: Verdict, identifiers: RawIdentifiers, staging: Path, job: PublicationJob
    ) -> None:
        self.facts: Facts = facts
        self.release: Release = facts.release
        self.linkage: Linkage = facts.linkage
        self.staging = staging
        self.block_sizes: tuple[int, ...] = (facts.original.n_subjects,)
        self._verdict, self._identifiers = verdict, identifiers
        self._options = job.options
        self._evidence = Evidence(facts, tries=job.tries)

    def write_table(self) -> Manifest:
        """Write table and manifest, and read them again while figures are measured."""
        run, evidence = self.facts.run, self._evidence
        evidence.measure_exposure()
        with run.alongside(self._write, stage="writing") as written:

            def read_again() -> FolderReading:
                written()
                release_idle_memory()
                looked = read_folder(self.staging, self.release)
                release_idle_memory()
                return looked

            with run.alongside(read_again, stage="check of the files") as read:
                evidence.measure()
                release_idle_memory()
                manifest, self._looked = written(), read()
        release_idle_memory()
        return manifest

    def page(self) -> str:
        """The report."""
        return self._page(private=False)

    def private_page(self) -> str:
        """The report with an example from the raw data."""
        return self._page(private=True)

    def check(self) -> Verdict:
        """The verdict on the files, which must hold the judged release."""
        return verify_reading(
            self.facts.original,
            with_new_page(self._looked, self.release),
            self.linkage,
            run=self.facts.run,
            judged=(self.release, self._verdict),
            raw_identifiers=self._identifiers,
        )

    @property
    def accuracy(self) -> Accuracy | None:
        """The precision of boxes; points have none."""
        boxes = self._evidence.release_facts.boxes
        return None if boxes is None else boxes.accuracy

    @property
    def strongest(self) -> Rate | None:
        """The strongest attack in the report, if any."""
        return publishable_rate(self._evidence.assessment)

    @property
    def stations(self) -> tuple[str, ...]:
        """Cautions on what boxes tell of public places."""
        return self._evidence.stations

    @property
    def usefulness(self) -> Usefulness | None:
        """What the release is good for; None below ten people."""
        return self._evidence.usefulness

    def _page(self, *, private: bool) -> str:
        statement, ground = self._options.statement, self._options.ground
        return record_page(self._evidence, self._verdict, statement=statement, private=private, ground=ground)

    def _write(self) -> Manifest:
        write_table(self.release, self.staging / RELEASE_FILE)
        return write_manifest_of(self.staging, self.release, self._verdict, self._options.statement)


def require_ground_over(original: Trajectories, ground: MapGround) -> None:
    """Raise InputError when the map's ground covers none of the data."""
    if ground is not NO_GROUND:
        cell_m = 1.0 if original.grid is None else original.grid.cell_m
        ground.require_over(bounds_around(original.x * cell_m, original.y * cell_m), original.crs)


def _identity(job: PublicationJob, original: Trajectories) -> dict[str, Any]:
    return {
        "data": digest_of(original.offsets, original.t, original.x, original.y),
        "grid": original.grid,
        "method": type(job.method).__name__,
        "parameters": job.method.parameters(),
        **({} if job.series is None else {"series": job.series.identity}),
    }
