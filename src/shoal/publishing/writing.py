"""What all publications do alike: refuse targets, fill and check a folder, write secrets beside it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shoal.errors import ClaimError, OutputError
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILE
from shoal.model.verdicts import Verdict
from shoal.release_folder.folder import check_linkage_path, staged_linkage, staged_trace
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    manifest_of,
    write_manifest,
)
from shoal.release_folder.statement import Statement
from shoal.release_folder.tables import require_places_on_earth
from shoal.runtime.checkpoint import parts_folder
from shoal.runtime.files import sha256_of
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run
from shoal.runtime.staging import require_absent, staged_file


def require_free(output: Path, *secrets: Path | None) -> None:
    """Raise OutputError unless all secret files are outside ``output``, new, and under different names.

    The folder of its parts is none of their places, either: it is removed in the end, with all that it holds.
    """
    files = [path for path in secrets if path is not None]
    for path in files:
        check_linkage_path(path, output)
        if path.resolve().is_relative_to(parts_folder(output).resolve()):
            raise OutputError(f"{path} would be removed with the finished parts; choose another place")
    if len({path.resolve() for path in files}) < len(files):
        raise OutputError(
            f"{files[0]} is named for two different files, and one would replace the other; choose another "
            "name"
        )


def write_release(
    staging: Path,
    release: Release,
    verdict: Verdict,
    *,
    write: Callable[[Path], None],
    statement: Statement,
) -> Manifest:
    """Write the table, by ``write``, and the manifest of a folder without a page; the folder is staged.

    Raises InputError when places lie off the plane.
    """
    write(staging / RELEASE_FILE)
    require_places_on_earth(staging / RELEASE_FILE)
    manifest = manifest_of(release, verdict, staging / RELEASE_FILE, statement)
    write_manifest(manifest, staging / MANIFEST_FILE)
    return manifest


def finish_release(
    staging: Path, manifest: Manifest, *, page: Callable[[], str], check: Callable[[], Verdict], run: Run
) -> Manifest:
    """Write the report beside table and manifest, its digest into that, and check what was written.

    page, check: called when the table, and when everything, is there. Raises ClaimError when the check finds
    anything.
    """
    with run.stage("page"):
        (staging / REPORT_FILE).write_text(page(), encoding="utf-8")
        manifest = manifest.model_copy(update={"report_sha256": sha256_of(staging / REPORT_FILE)})
        write_manifest(manifest, staging / MANIFEST_FILE)
    with run.stage("check of the files"):
        release_idle_memory()
        require_holds(check())
    return manifest


@contextmanager
def staged_secrets(
    output: Path, release: Release, linkage: Linkage, linkage_file: Path | None
) -> Iterator[None]:
    """Write linkage and trace when asked; they get their final names when the block succeeds.

    Raises OutputError when somebody else has published at ``output`` meanwhile: no secrets stay then, which
    would belong to no release.
    """
    with ExitStack() as beside:
        if linkage_file is not None:
            beside.enter_context(staged_linkage(linkage, linkage_file, output))
            if linkage.trace is not None:
                trace_file = linkage_file.with_name(TRACE_FILE)
                beside.enter_context(staged_trace(linkage.trace, release, trace_file))
        yield
        require_absent(output)


def write_page(page: str, path: Path) -> None:
    """Write a page, complete or not at all."""
    with staged_file(path, lambda file: file.write(page.encode()), mode=0o666):
        pass


def require_holds(verdict: Verdict) -> None:
    """Raise ClaimError, with every kind of finding and one example, unless the verdict holds."""
    if not verdict.holds:
        raise ClaimError(f"the release does not keep its promise and was not written: {verdict.why_not}")
