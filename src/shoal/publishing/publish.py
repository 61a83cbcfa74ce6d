"""The main job: anonymize, verify, report, and write a release folder, or refuse to.

The release is checked in memory, for the verdict that manifest and report show. Then the written files are
read and checked, leak lint included, before the folder gets its name: they must hold that release to the last
value, or its claim is checked once more. What fails is not written.
"""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.attacks.questions import TRIES
from shoal.attacks.rate import Rate
from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap, drawn_people, k_gaps
from shoal.methods import Method
from shoal.model.argument_checks import require_method_inputs, require_one_region, require_trajectories
from shoal.model.html_table import html_table
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILE
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.publishing.writing import (
    finish_release,
    require_free,
    require_holds,
    staged_secrets,
    write_page,
    write_release,
)
from shoal.release_folder.manifest import Manifest
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.release_folder.tables import write_table
from shoal.report.facts.evidence import Evidence, rate_shown
from shoal.report.facts.ground import NOTHING_BEHIND, MapGround, around
from shoal.report.pages.assessment import assessment_report
from shoal.report.pages.record import record_page
from shoal.runtime.checkpoint import Checkpoint, digest_of, parts_folder
from shoal.runtime.files import local_path
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import require_absent, staged_file, staged_folder
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy
from shoal.verification.checks import verdict_on
from shoal.verification.files.folder import Looked, looked_at, verify_looked, with_its_page
from shoal.verification.leaks.known import RawIdentifiers


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """What was written, and what is in memory of it for the holder of the raw data.

    Parameters
    ----------
    folder
        The release folder.
    manifest
        What its manifest says.
    release
        What is published.
    linkage
        Who became which record: as secret as the raw data.
    accuracy
        What boxes leave of place and time; points have none.
    facts
        What was found for the report, as secret as the raw data.
    strongest
        The strongest attack that the report shows, None where none was played.
    """

    folder: Path
    manifest: Manifest
    release: Release
    linkage: Linkage
    accuracy: Accuracy | None
    facts: Facts
    strongest: Rate | None

    def _repr_html_(self) -> str:
        claim = self.release.claim
        rows = [
            ("folder", self.folder),
            ("promise", claim.promise),
            *([("this is no anonymity", claim.no_anonymity)] if claim.no_anonymity else []),
            ("records", f"{self.manifest.n_records:,}"),
            ("publishable", "yes" if self.manifest.publishable else "no: made with a research seed"),
        ]
        return html_table("Published", rows, notes=claim.cautions)


def publish(
    original: Trajectories,
    method: Method,
    output: Path | str,
    *,
    rng: Randomness,
    run: Run | None = None,
    linkage_file: Path | str | None = None,
    private_report: Path | str | None = None,
    resume: bool = False,
    statement: Statement = NOTHING_STATED,
    tries: int = TRIES,
    exact_figures: bool = False,
    ground: MapGround = NOTHING_BEHIND,
) -> Publication:
    """Write a verified release folder, complete or not at all.

    Parameters
    ----------
    original
        The raw data: snapped for methods that publish boxes, as given for those that publish points.
    method
        How to anonymize, with its parameters.
    output
        The release folder to write; it must not exist yet.
    rng
        Where pseudonyms and shuffles come from; ``Randomness.from_system()`` for anything that is published.
    run
        Where progress is reported and how many threads may work.
    linkage_file, private_report
        Secret files to write as well, readable by their owner alone; both must lie outside ``output``.
    resume
        Keep finished parts of the work in a folder beside ``output`` until it is done, and continue from
        those found there.
    statement
        What the publisher says of the release.
    tries
        Victims of each attack whose rate the report shows; 0 = no attack is played.
    exact_figures
        Whether the report's k-gaps are those of everybody, also where those of 1,000 people drawn at random
        would do.
    ground
        Streets and tiles of yours behind the report's map.

    Returns
    -------
    Publication
        What was written.

    Raises
    ------
    ClaimError
        When the release does not keep its promise.
    OutputError
        When a target exists or cannot be written.
    MisuseError
        When the method cannot work on this data.
    InputError
        When nothing of the map's ground lies where the data is, or the data spans too much of the earth.

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
    require_method_inputs(original, rng)
    require_one_region(original.intake.notes)
    if isinstance(method, (str, type)) or not hasattr(method, "about"):
        raise MisuseError("a method is needed with its parameters, such as shoal.Glove(k=5)")
    output = local_path(output, "the release folder")
    linkage_file = None if linkage_file is None else local_path(linkage_file, "the linkage")
    private_report = None if private_report is None else local_path(private_report, "the private report")
    run = run or Run()
    require_targets(method, output, linkage_file, private_report)
    require_ground_over(original, ground)
    parts = parts_folder(output)
    kept = Checkpoint.until_done(parts, _job(original, method)) if resume else nullcontext(run.checkpoint)
    with kept as checkpoint, staged_folder(output) as staging, ExitStack() as beside:
        run = replace(run, checkpoint=checkpoint)
        with run.stage("method"):
            release, linkage = method.anonymize(original, rng, run)
            release_idle_memory()
        with run.stage("check"):
            known = RawIdentifiers.of(original)
            verdict = verdict_on(original, release, linkage, run=run, known=known)
            release_idle_memory()
        require_holds(verdict)
        evidence = Evidence(Facts(original, release, linkage, run=run, exact=exact_figures), tries=tries)
        record = partial(record_page, evidence, verdict, statement=statement, ground=ground)
        write = partial(
            write_release, staging, release, verdict, write=partial(write_table, release), statement=statement
        )
        evidence.measure_exposure()
        with run.alongside(write, stage="writing") as written:

            def read_again() -> Looked:
                written()
                release_idle_memory()
                looked = looked_at(staging, release)
                release_idle_memory()
                return looked

            with run.alongside(read_again, stage="check of the files") as read:
                evidence.measure()
                release_idle_memory()
                manifest, looked = written(), read()
        release_idle_memory()

        def check() -> Verdict:
            whole, judged = with_its_page(looked, release), (release, verdict)
            return verify_looked(original, whole, linkage, run=run, judged=judged, known=known)

        manifest = finish_release(staging, manifest, page=record, check=check, run=run)
        if private_report is not None:
            private_page = record(private=True).encode()
            beside.enter_context(staged_file(private_report, lambda file: file.write(private_page)))
        beside.enter_context(staged_secrets(output, release, linkage, linkage_file))
    boxes = evidence.release_facts.boxes
    accuracy = None if boxes is None else boxes.accuracy
    return Publication(
        folder=output,
        manifest=manifest,
        release=release,
        linkage=linkage,
        accuracy=accuracy,
        facts=evidence.facts,
        strongest=rate_shown(evidence.assessment),
    )


def require_targets(
    method: Method, output: Path, linkage_file: Path | None, private_report: Path | None
) -> None:
    """Raise before any work.

    MisuseError for a private report of points, OutputError for secret files that are inside the release or
    there already.
    """
    of_points = method.about.publishes == "points"  # asked before there is a release
    if private_report is not None and of_points:
        raise MisuseError("a private report shows one crowd of boxes; releases of points have none")
    trace_file = linkage_file.with_name(TRACE_FILE) if linkage_file is not None and of_points else None
    require_free(output, linkage_file, trace_file, private_report)


def require_ground_over(original: Trajectories, ground: MapGround) -> None:
    """Raise InputError, before any work, where a map of the data would show nothing of its ground."""
    if ground is not NOTHING_BEHIND:
        cell_m = 1.0 if original.grid is None else original.grid.cell_m
        ground.require_over(around(original.x * cell_m, original.y * cell_m), original.crs)


def _job(original: Trajectories, method: Method) -> dict[str, Any]:
    """What decides the crowds of a release: the samples and the method with its parameters."""
    return {
        "data": digest_of(original.offsets, original.t, original.x, original.y),
        "grid": original.grid,
        "method": type(method).__name__,
        "parameters": method.parameters(),
    }


def assess(
    original: Trajectories,
    ks: Sequence[int],
    run: Run | None = None,
    report_file: Path | str | None = None,
    *,
    exact_figures: bool = True,
) -> list[KGap]:
    """Say how exposed people are before anything is published.

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

    Returns
    -------
    list of KGap
        The k-gap of everybody, or of those drawn, for each k in the order given.

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
        people = None if exact_figures else drawn_people(original.n_subjects)
        gaps = k_gaps(original, ks, run=run, subjects=people)
    if report_file is not None:
        write_page(assessment_report(original, gaps), report_file)
    return gaps
