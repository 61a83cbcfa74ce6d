"""Releases where they lie, also in another format."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from shoal.errors import InputError
from shoal.io.sources import object_stores, server_tables
from shoal.model.verdicts import Finding
from shoal.publishing.exported import as_release_folder
from shoal.publishing.exporting import PACKAGE_FILE
from shoal.publishing.in_database import fetch_from_database
from shoal.release_folder.manifest import RELEASE_FILE

_NAME: Final = "release"


@dataclass(frozen=True, kw_only=True)
class LocalRelease:
    """A local release, with findings and notes on its storage."""

    folder: Path
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings and notes in sentences."""
        return (
            *(f"look at it with shoal verify: {finding.message}" for finding in self.findings),
            *self.notes,
        )


@contextmanager
def open_release(place: Path | str, *, as_written: bool = False) -> Iterator[LocalRelease]:
    """A release (folder, store, tables) as a local folder, while the block lasts.

    A copy can be read by its owner only. as_written: leave another format, for ``verify_folder``.
    """
    with ExitStack() as stack:
        opened = _fetch(place, stack)
        if not as_written:
            folder, findings, notes = stack.enter_context(as_release_folder(opened.folder))
            opened = LocalRelease(
                folder=folder, findings=(*opened.findings, *findings), notes=(*opened.notes, *notes)
            )
        yield opened


def _fetch(place: Path | str, stack: ExitStack) -> LocalRelease:
    if isinstance(place, Path):
        return LocalRelease(folder=place)
    in_store = object_stores.is_address(place)
    if not in_store and not server_tables.is_place(place):
        return LocalRelease(folder=Path(place))
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="shoal-"))) / _NAME
    folder.mkdir()
    stack.enter_context(_without_copy_path(folder))
    if not in_store:
        findings, notes = fetch_from_database(place, folder)
        return LocalRelease(folder=folder, findings=tuple(findings), notes=tuple(notes))
    object_stores.fetch(place, folder)
    if not (folder / RELEASE_FILE).exists() and not (folder / PACKAGE_FILE).exists():
        raise InputError(
            f"there is no complete release at that address: it has neither {RELEASE_FILE} nor "
            f"{PACKAGE_FILE}, which is written last"
        )
    return LocalRelease(folder=folder)


@contextmanager
def _without_copy_path(folder: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        message = error.cli_message.replace(f"{folder}/", "").replace(str(folder), "the release")
        raise InputError(message) from error
