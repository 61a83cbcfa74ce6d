"""Publish, in memory or in blocks: anonymize, write, report, check, then name the folder.

Files of a release in memory must hold it exactly, or are checked again.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from shoal.attacks.questions import TRIES
from shoal.attacks.rate import Rate
from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap, k_gaps, sample_for_k_gap
from shoal.messages import Message
from shoal.methods import Method
from shoal.model.argument_checks import require_method_inputs, require_one_region, require_trajectories
from shoal.model.html_table import html_table
from shoal.model.release import Linkage, Release
from shoal.model.trace import trace_path
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.publishing.in_blocks import InBlocks, anonymize_in_blocks
from shoal.publishing.writing import (
    DEFAULT_OPTIONS,
    Candidate,
    PublicationJob,
    PublishOptions,
    require_free,
    require_holds,
    staged_secrets,
    write_manifest_of,
    write_page,
)
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, REPORT_FILE, Manifest, write_manifest
from shoal.release_folder.tables import write_table
from shoal.report.facts.evidence import Evidence, publishable_rate
from shoal.report.facts.ground import NO_GROUND, bounds_around
from shoal.report.pages.assessment import assessment_report
from shoal.report.pages.record import record_page
from shoal.runtime.argument_types import typed
from shoal.runtime.checkpoint import Checkpoint, digest_of, parts_folder
from shoal.runtime.files import local_path, sha256_of
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.randomness import Randomness, require_randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import flush_to_disk, require_absent, staged_file, staged_folder
from shoal.units import percent
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy
from shoal.utility.usefulness import UNMEASURED, Usefulness
from shoal.verification.checks import verdict_on
from shoal.verification.files.folder import FolderReading, read_folder, verify_reading, with_new_page
from shoal.verification.leaks.raw_identifiers import RawIdentifiers


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """The result of ``publish``, as secret as the raw data.

    Parameters
    ----------
    folder
        The release folder.
    manifest
        The content of its manifest.
    release
        The release; made in blocks, it leaves its boxes in the file.
    linkage
        Who became which record: as secret as the raw data.
    accuracy
        How precise place and time are in boxes; None for points.
    facts
        Measurements for the report, as secret as the raw data; None in blocks.
    strongest
        The strongest attack in the report; None when none was played.
    stations
        Cautions on what boxes tell of public places.
    usefulness
        What the release is good for; None below ten people.
    block_sizes
        The number of people in each block; at once, everyone is in one.
    of_series
        Cautions on the series that the release belongs to.
    """

    folder: Path
    manifest: Manifest
    release: Release
    linkage: Linkage
    accuracy: Accuracy | None
    facts: Facts | None
    strongest: Rate | None
    stations: tuple[Message, ...]
    usefulness: Usefulness | None
    block_sizes: tuple[int, ...]
    of_series: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        claim = self.release.claim
        rows = [
            ("folder", self.folder),
            ("promise", claim.promise),
            *([("this is no anonymity", claim.no_anonymity)] if claim.no_anonymity else []),
            *([] if self.usefulness is None else [("usefulness", self.usefulness.summary)]),
            ("records", f"{self.manifest.n_records:,}"),
            ("publishable", "yes" if self.manifest.publishable else "no: made with a research seed"),
        ]
        return html_table("Published", rows, notes=self.cautions)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the release is used: of its usefulness, risk, places, series, and claim."""
        claim, rate = self.release.claim, self.strongest
        of_risk: tuple[str, ...] = ()
        if rate is not None and self.is_beaten:
            words = f"the strongest attack, {rate.name} ({rate.knowledge}), is right in {percent(rate.rate)}"
            of_risk = (f"{words}: more often than 1 in {claim.k}, which k bounds for naming a record alone",)
        return (*self.of_use, *of_risk, *self.stations, *self.of_series, *claim.cautions)

    @property
    def of_use(self) -> tuple[str, ...]:
        """A caution if the release is good for nothing, or of too few people to say."""
        return (UNMEASURED,) if self.usefulness is None else self.usefulness.cautions

    @property
    def is_beaten(self) -> bool:
        """Whether the strongest attack wins more often than 1 in k."""
        claim, rate = self.release.claim, self.strongest
        return rate is not None and claim.in_classes and rate.beats(claim.k)


@typed
def publish(
    original: Trajectories | InBlocks,
    method: Method,
    output: Path | str,
    *,
    rng: Randomness,
    run: Run | None = None,
    linkage_file: Path | str | None = None,
    tries: int = TRIES,
    options: PublishOptions = DEFAULT_OPTIONS,
) -> Publication:
    """Write a verified release folder, complete or not at all.

    Parameters
    ----------
    original
        The raw data: snapped for methods that publish boxes, as given for methods that publish points; or
        ``InBlocks`` for a file to read and anonymize block by block, which only GLOVE can.
    method
        How to anonymize, with its parameters.
    output
        The release folder to write; it must not exist yet.
    rng
        Draws pseudonyms and shuffles; use ``Randomness.from_system()`` for anything that is published.
    run
        Where progress is reported and how many threads may work.
    linkage_file
        A secret table to write of who became which record, outside ``output``.
    tries
        Victims of each attack in the report; 0 plays no attack.
    options
        Statement, map, private report and so on.

    Returns
    -------
    Publication
        The written release.

    Raises
    ------
    ClaimError
        When the release, or one of its blocks, does not keep its promise.
    OutputError
        When a target exists or cannot be written.
    MisuseError
        When the method cannot work on this data, or in such blocks.
    InputError
        When the map's ground does not cover any of the data, the data spans too much of the earth, or
        finished parts next to ``output`` belong to another job.

    Examples
    --------
    >>> import shoal, tempfile
    >>> from pathlib import Path
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     published = shoal.publish(
    ...         calls, shoal.Glove(k=2), Path(folder) / "release", rng=shoal.Randomness.from_system(), tries=0
    ...     )
    ...     print(sorted(path.name for path in published.folder.iterdir()))
    ['manifest.json', 'release.parquet', 'report.html']
    """
    if isinstance(original, InBlocks):
        require_randomness(rng)
    else:
        require_method_inputs(original, rng)
    if isinstance(method, (str, type)) or not hasattr(method, "about"):
        raise MisuseError("a method is needed with its parameters, such as shoal.Glove(k=5)")
    output = local_path(output, "the release folder")
    linkage_file = None if linkage_file is None else local_path(linkage_file, "the linkage")
    private = options.private_report
    private_report = None if private is None else local_path(private, "the private report")
    require_targets(method, output, linkage_file, private_report)
    with ExitStack() as opened:
        series = None if options.series is None else opened.enter_context(options.series.open(method, output))
        job = PublicationJob(
            method=method,
            output=output,
            rng=rng,
            run=run or Run(),
            tries=tries,
            options=options,
            series=series,
        )
        anonymized: AbstractContextManager[Candidate] = (
            anonymize_in_blocks(original, job)
            if isinstance(original, InBlocks)
            else anonymize_at_once(original, job)
        )
        candidate = opened.enter_context(anonymized)
        manifest = finish_release(candidate, candidate.write_table(), job.run)
        evidence = candidate.evidence
        if evidence.usefulness is not None:
            options.accept(evidence.usefulness)
        if private_report is not None:
            page = candidate.page(private=True).encode()
            opened.enter_context(staged_file(private_report, lambda file: file.write(page)))
        flush_to_disk(candidate.staging)  # so that state, secrets and release change right after each other
        if series is not None:
            series.stage(manifest.release_sha256)
        opened.enter_context(staged_secrets(output, candidate.release, candidate.linkage, linkage_file))
    return Publication(
        folder=output,
        manifest=manifest,
        release=candidate.release,
        linkage=candidate.linkage,
        accuracy=candidate.accuracy,
        facts=candidate.facts,
        strongest=publishable_rate(evidence.assessment),
        stations=evidence.stations,
        usefulness=evidence.usefulness,
        block_sizes=candidate.block_sizes,
        of_series=() if series is None else series.cautions,
    )


def finish_release(candidate: Candidate, manifest: Manifest, run: Run) -> Manifest:
    """Write the report, put its digest into the manifest, and check all files."""
    report, manifest_file = candidate.staging / REPORT_FILE, candidate.staging / MANIFEST_FILE
    with run.stage("page"):
        report.write_text(candidate.page(), encoding="utf-8")
        useful = candidate.evidence.usefulness
        entries = {"report_sha256": sha256_of(report), "usefulness": useful and useful.to_json()}
        manifest = Manifest.model_validate(manifest.model_dump() | entries)
        write_manifest(manifest, manifest_file)
    with run.stage("check of the files"):
        release_idle_memory()
        require_holds(candidate.check())
    return manifest


def require_targets(
    method: Method, output: Path, linkage_file: Path | None, private_report: Path | None
) -> None:
    """Check all targets before any work."""
    of_points = method.about.publishes == "points"
    if private_report is not None and of_points:
        raise MisuseError("a private report shows one crowd of boxes; releases of points have none")
    trace_file = trace_path(linkage_file) if linkage_file is not None and of_points else None
    require_free(output, linkage_file, trace_file, private_report)


@typed
def assess(
    original: Trajectories,
    ks: Sequence[int],
    run: Run | None = None,
    report_file: Path | str | None = None,
    *,
    exact_figures: bool = True,
    remarks: Sequence[str] = (),
) -> list[KGap]:
    """Compute how exposed people are before anything is published.

    Parameters
    ----------
    original
        The raw data, on a grid.
    ks
        Sizes of the crowds to hide people in, each at least 2.
    run
        Where progress is reported and how many threads may work.
    report_file
        An HTML page to write on the k-gaps; it must not exist yet.
    exact_figures
        False: of more than 2,000 people, 1,000 drawn at random stand for all.
    remarks
        Further sentences for the page.

    Returns
    -------
    list of KGap
        The k-gaps of everyone, or of the people drawn, for each k in the order given.

    Raises
    ------
    OutputError
        When the report exists or cannot be written.
    MisuseError
        For a k below 2, or fewer people than k.

    Examples
    --------
    >>> import shoal
    >>> from shoal.publishing.publish import assess
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> [gap.k for gap in assess(calls, [2, 5])]
    [2, 5]
    """
    require_trajectories(original)
    report_file = None if report_file is None else local_path(report_file, "the report")
    if report_file is not None:
        require_absent(report_file)
    run = run or Run()
    with run.stage("k-gaps"):
        people = None if exact_figures else sample_for_k_gap(original.n_subjects)
        gaps = k_gaps(original, ks, run=run, subjects=people)
    if report_file is not None:
        write_page(assessment_report(original, gaps, remarks), report_file)
    return gaps


@contextmanager
def anonymize_at_once(original: Trajectories, job: PublicationJob) -> Iterator["CandidateInMemory"]:
    """Anonymize and verify in memory; the release folder gets its name when the ``with`` block succeeds."""
    require_one_region(original.intake.notes)
    if (ground := job.options.ground) is not NO_GROUND:
        cell_m = 1.0 if original.grid is None else original.grid.cell_m
        ground.require_over(bounds_around(original.x * cell_m, original.y * cell_m), original.crs)
    run, parts = job.run, parts_folder(job.output)
    columns = (original.offsets, original.t, original.x, original.y)
    finished_parts = (
        Checkpoint.until_done(parts, {"data": digest_of(*columns), "grid": original.grid, **job.identity})
        if job.options.resume
        else nullcontext(run.checkpoint)
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
        self.evidence: Evidence = Evidence(facts, tries=job.tries, streets=job.options.ground.streets)

    def write_table(self) -> Manifest:
        """Write table and manifest, and read them again while figures are measured."""
        run, evidence = self.facts.run, self.evidence
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

    def page(self, *, private: bool = False) -> str:
        """The report; private: with an example from the raw data."""
        statement, ground = self._options.statement, self._options.ground
        return record_page(self.evidence, self._verdict, statement=statement, private=private, ground=ground)

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
        boxes = self.evidence.release_facts.boxes
        return None if boxes is None else boxes.accuracy

    def _write(self) -> Manifest:
        write_table(self.release, self.staging / RELEASE_FILE)
        return write_manifest_of(self.staging, self.release, self._verdict, self._options.statement)
