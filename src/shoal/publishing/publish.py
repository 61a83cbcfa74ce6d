"""The main job: anonymize, verify, report, and write a release folder, or refuse to.

The release is checked twice: in memory, for the verdict that manifest and report show, and once more from the
written files, leak lint included, before the folder gets its name. What fails is not written.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from shoal.attacks.questions import TRIES
from shoal.errors import ClaimError, MisuseError, OutputError
from shoal.io import read_with
from shoal.io.storing import store_people
from shoal.measures.k_gap import KGap, k_gaps
from shoal.methods import Method
from shoal.model.release import AnyRelease, Linkage, PointRelease, Release
from shoal.model.trace import TRACE_FILE
from shoal.model.trajectories import Grid, Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.box_table import insist_on_outlines
from shoal.release_folder.folder import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    check_linkage_path,
    manifest_of,
    read_any_release,
    read_linkage,
    reading_of_raw,
    staged_linkage,
    staged_trace,
    write_manifest,
    write_table,
)
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report import assessment_report, gather_evidence, points_report, release_report
from shoal.runtime.checkpoint import Checkpoint, digest_of, parts_folder
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write, staged_file, staged_folder
from shoal.utility.accuracy import Accuracy, measure_accuracy
from shoal.verification import verify, verify_folder
from shoal.verification.composition.candidates import Issued
from shoal.verification.composition.several import Together, reveal_together
from shoal.verification.files.streamed import verify_streamed_folder

GAPS_SHOWN: Final = (2, 5)


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """What was written, and what is in memory of it for the holder of the raw data.

    accuracy: of boxes; points have none.
    """

    folder: Path
    manifest: Manifest
    release: AnyRelease
    linkage: Linkage
    accuracy: Accuracy | None


def publish(
    original: Trajectories,
    method: Method,
    output: Path,
    *,
    rng: Randomness,
    run: Run | None = None,
    linkage_file: Path | None = None,
    private_report: Path | None = None,
    resume: bool = False,
    statement: Statement = NOTHING_STATED,
    tries: int = TRIES,
) -> Publication:
    """Write a verified release folder, complete or not at all.

    statement: what the publisher says of it. tries: victims of each attack whose rate the report shows, 0 =
    none is played. linkage_file, private_report: written, readable by their owner alone, only when named;
    both must lie outside ``output``. resume: keep finished parts of the work in a folder beside ``output``
    until it is done, and continue from those found there. Raises ClaimError when the release does not keep
    its promise, OutputError when a target exists or cannot be written.
    """
    run = run or Run()
    if private_report is not None and method.takes_points:
        raise MisuseError("a private report shows one crowd of boxes; releases of points have none")
    trace_file = (
        linkage_file.with_name(TRACE_FILE) if linkage_file is not None and method.takes_points else None
    )
    parts = parts_folder(output)
    secret = [path for path in (linkage_file, trace_file, private_report) if path is not None]
    for path in secret:
        check_linkage_path(path, output)
    if len({path.resolve() for path in secret}) < len(secret):
        raise OutputError(
            f"{secret[0]} is named for two different files, and one would replace the other; choose another "
            "name"
        )
    if resume:
        with explained_write(parts):
            run = replace(run, checkpoint=Checkpoint.open(parts, _job(original, method)))
    with staged_folder(output) as staging, ExitStack() as beside:
        release, linkage = method.anonymize(original, rng, run)
        verdict = verify(original, release, linkage)
        insist(verdict)
        snapped = original if original.grid is not None else original.snapped_to(Grid())
        gaps = exposure_at(snapped, sorted({*GAPS_SHOWN, release.claim.k}), run)
        write_table(release, staging / RELEASE_FILE)
        if isinstance(release, Release):
            insist_on_outlines(staging / RELEASE_FILE)
        manifest = manifest_of(release, verdict, staging / RELEASE_FILE, statement)
        write_manifest(manifest, staging / MANIFEST_FILE)
        evidence = gather_evidence(original, release, linkage, tries=tries, run=run)
        if isinstance(release, PointRelease):
            page = points_report(
                original, release, verdict, gaps, snapped, evidence=evidence, statement=statement
            )
        else:
            of_boxes = partial(
                release_report,
                original,
                release,
                linkage,
                verdict,
                gaps,
                evidence=evidence,
                statement=statement,
            )
            page = of_boxes()
            if private_report is not None:
                private_page = of_boxes(private=True).encode()
                beside.enter_context(staged_file(private_report, lambda file: file.write(private_page)))
        (staging / REPORT_FILE).write_text(page, encoding="utf-8")
        insist(verify_folder(original, staging, linkage))
        if linkage_file is not None:
            beside.enter_context(staged_linkage(linkage, linkage_file, output))
            if linkage.trace is not None:
                beside.enter_context(staged_trace(linkage.trace, release, linkage_file.with_name(TRACE_FILE)))
    if resume:
        shutil.rmtree(parts, ignore_errors=True)
    accuracy = measure_accuracy(original, release, linkage) if isinstance(release, Release) else None
    return Publication(folder=output, manifest=manifest, release=release, linkage=linkage, accuracy=accuracy)


def _job(original: Trajectories, method: Method) -> dict[str, Any]:
    """What decides the crowds of a release: the samples and the method with its parameters."""
    return {
        "data": digest_of(original.offsets, original.t, original.x, original.y),
        "grid": original.grid,
        "method": type(method).__name__,
        "parameters": method.parameters(),
    }


def assess(
    original: Trajectories, ks: Sequence[int], run: Run, report_file: Path | None = None
) -> list[KGap]:
    """The k-gaps for each k, and, when asked, the report on them.

    Raises OutputError when the report cannot be written.
    """
    if report_file is not None and report_file.exists():
        raise OutputError(f"{report_file} exists; choose another --output or remove it first")
    gaps = k_gaps(original, ks, run=run)
    if report_file is not None:
        write_page(assessment_report(original, gaps), report_file)
    return gaps


def verify_against_raw(
    raw: Any, folder: Path, linkage: Linkage | None, run: Run, **overrides: Any
) -> Verdict:
    """Read the raw input again as the manifest says it was read, and check the folder against it.

    overrides: settings of the reading that take the place of the manifest's, such as other column names.
    """
    return verify_folder(read_raw_of(raw, folder, run, **overrides), folder, linkage)


def stream_against_raw(raw: Any, folder: Path, linkage: Linkage, run: Run, **overrides: Any) -> Verdict:
    """The same in little memory, with scratch files in a folder beside the release that its owner alone can read and that is removed."""
    with (
        explained_write(folder),
        TemporaryDirectory(dir=folder.resolve().parent, prefix=f".{folder.name}.check-") as scratch,
    ):
        people = store_people(raw, reading_of_raw(folder, **overrides), Path(scratch) / "people", run)
        (Path(scratch) / "spread").mkdir()
        return verify_streamed_folder(people, folder, linkage, Path(scratch) / "spread", run)


def read_raw_of(raw: Any, folder: Path, run: Run, **overrides: Any) -> Trajectories:
    """The raw input of a release folder, read as its manifest says.

    Overrides take the place of the manifest's settings.
    """
    return read_with(raw, reading_of_raw(folder, **overrides), run)


def reveal(
    raw: Any, folder: Path, linkage: Path, earlier: Sequence[tuple[Path, Path]], run: Run, **overrides: Any
) -> Together:
    """What a release folder and earlier ones of the same raw data reveal together.

    earlier: folders with their linkage tables.

    Raises InputError when one cannot be read or does not belong.
    """
    issued = [
        Issued(
            label=f"the release {one}",
            original=read_raw_of(raw, one, run, **overrides),
            release=read_any_release(one),
            linkage=read_linkage(links),
        )
        for one, links in [(folder, linkage), *earlier]
    ]
    return reveal_together(issued[0], issued[1:])


def exposure_at(original: Trajectories, ks: Sequence[int], run: Run) -> list[KGap]:
    """The k-gaps for those k that the data has enough people for."""
    return k_gaps(original, [k for k in ks if k <= original.n_subjects], run=run)


def write_page(page: str, path: Path) -> None:
    """Write a page, complete or not at all."""
    with staged_file(path, lambda file: file.write(page.encode()), mode=0o666):
        pass


def insist(verdict: Verdict) -> None:
    """Raise ClaimError, with every kind of finding and one example, unless the verdict holds."""
    if verdict.holds:
        return
    kinds = ", ".join(f"{kind} ({count})" for kind, count in verdict.to_json()["findings_by_kind"].items())
    raise ClaimError(
        f"the release does not keep its promise and was not written: {kinds}; for example: "
        f"{verdict.findings[0].message}"
    )
