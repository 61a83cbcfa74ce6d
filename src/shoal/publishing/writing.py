"""What every publication shares: options, targets, and the files of a release."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from shoal.attacks.questions import TRIES
from shoal.errors import ClaimError, OutputError
from shoal.methods import Method
from shoal.model.release import Linkage, Release
from shoal.model.trace import trace_path
from shoal.model.verdicts import Verdict
from shoal.publishing.in_series import SeriesOptions, SeriesRelease
from shoal.release_folder.folder import check_linkage_path, staged_linkage, staged_trace
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    NOTHING_STATED,
    RELEASE_FILE,
    Manifest,
    Statement,
    build_manifest,
    write_manifest,
)
from shoal.release_folder.tables import require_places_on_earth
from shoal.report.facts.evidence import Evidence
from shoal.report.facts.ground import NO_GROUND, MapGround
from shoal.runtime.argument_types import typed
from shoal.runtime.checkpoint import parts_folder
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import require_absent, staged_file
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy
from shoal.utility.usefulness import Usefulness


@typed
@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Optional settings of ``publish``.

    Parameters
    ----------
    statement
        The publisher's statement about the release.
    ground
        Streets and tiles behind the report's map.
    private_report
        A secret page to write, readable by its owner alone, outside the release folder.
    exact_figures
        Compute the report's k-gaps for everyone, not for 1,000 people drawn at random.
    resume
        Keep finished parts in a folder next to the release until it is done, and continue from them.
    series
        The series to which the release belongs; None for a release on its own.
    accept
        Called with what the release is good for before its folder gets its name; nothing is written if it
        raises an error.
    """

    statement: Statement = NOTHING_STATED
    ground: MapGround = NO_GROUND
    private_report: Path | str | None = None
    exact_figures: bool = False
    resume: bool = False
    series: SeriesOptions | None = None
    accept: Callable[[Usefulness], None] = lambda _: None


DEFAULT_OPTIONS = PublishOptions()


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicationJob:
    """The work of one publication."""

    method: Method
    output: Path
    rng: Randomness
    run: Run
    tries: int = TRIES  # victims of each attack in the report; 0 plays none
    options: PublishOptions = DEFAULT_OPTIONS
    series: SeriesRelease | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the release besides its data, for the parts of a stopped run."""
        of_method = {"method": type(self.method).__name__, "parameters": self.method.parameters()}
        return of_method if self.series is None else {**of_method, "series": self.series.identity}


class Candidate(Protocol):
    """A release whose claim holds and whose folder has no name yet; its parts are asked for in this order."""

    staging: Path
    linkage: Linkage
    block_sizes: tuple[int, ...]

    def write_table(self) -> Manifest:
        """Write table and manifest."""

    def page(self, *, private: bool = False) -> str:
        """The report; private: with an example from the raw data."""

    def check(self) -> Verdict:
        """The verdict on the files, the page among them."""

    @property
    def release(self) -> Release:
        """The release, or its header where the boxes are on disk."""

    @property
    def evidence(self) -> Evidence:
        """What the report measures."""

    @property
    def accuracy(self) -> Accuracy | None:
        """The precision of boxes; points have none."""

    @property
    def facts(self) -> Facts | None:
        """Raw data, release and linkage; None where they are not in memory."""


def require_free(output: Path, *secrets: Path | None) -> None:
    """Require secret files to be new, different, outside ``output`` and its removable parts."""
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


def write_manifest_of(staging: Path, release: Release, verdict: Verdict, statement: Statement) -> Manifest:
    """Write the manifest of a staged table."""
    require_places_on_earth(staging / RELEASE_FILE)
    manifest = build_manifest(release, verdict, staging / RELEASE_FILE, statement)
    write_manifest(manifest, staging / MANIFEST_FILE)
    return manifest


@contextmanager
def staged_secrets(
    output: Path, release: Release, linkage: Linkage, linkage_file: Path | None
) -> Iterator[None]:
    """Write linkage and trace, named when the block succeeds: no secrets without their release."""
    with ExitStack() as files:
        if linkage_file is not None:
            files.enter_context(staged_linkage(linkage, linkage_file, output))
            if linkage.trace is not None:
                files.enter_context(staged_trace(linkage.trace, release, trace_path(linkage_file)))
        yield
        require_absent(output)


def write_page(page: str, path: Path) -> None:
    """Write a page, complete or not at all."""
    with staged_file(path, lambda file: file.write(page.encode()), mode=0o666):
        pass


def require_holds(verdict: Verdict) -> None:
    """Raise ClaimError, with every kind of finding, unless the verdict holds."""
    if not verdict.holds:
        raise ClaimError(f"the release does not keep its promise and was not written: {verdict.why_not}")
