"""Releases where they lie: a folder, an object store, tables of a server; also in another format."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from shoal.errors import InputError
from shoal.io import object_stores, server_tables
from shoal.model.verdicts import Finding
from shoal.publishing.exported import as_release_folder
from shoal.publishing.exporting import PACKAGE_FILE
from shoal.publishing.in_database import fetch_from_database
from shoal.release_folder.manifest import RELEASE_FILE

_NAME: Final = "release"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A release on this machine: its folder, what is wrong with how it was kept, and notes."""

    folder: Path
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """What somebody who only uses the release should know of how it was kept."""
        return (
            *(f"look at it with shoal verify: {finding.message}" for finding in self.findings),
            *self.notes,
        )


@contextmanager
def opened_release(place: Path | str, *, as_written: bool = False) -> Iterator[Opened]:
    """A release as a folder of this machine, for as long as the block lasts.

    Parameters
    ----------
    place
        A folder; ``s3://BUCKET/FOLDER`` or another object store; or tables of a server,
        ``postgresql://USER@HOST/DATABASE#schema.table``. What is elsewhere is copied to a folder that only
        its owner can read, and removed at the end.
    as_written
        Leave a release in another format as it is, for ``verify_folder``, which looks at its files, too.

    Raises
    ------
    InputError
        When it cannot be read, or is not complete.
    MisuseError
        For the address of a server that names no table.
    """
    with ExitStack() as kept:
        found = _here(place, kept)
        if not as_written:
            folder, findings, notes = kept.enter_context(as_release_folder(found.folder))
            found = Opened(folder=folder, findings=(*found.findings, *findings), notes=(*found.notes, *notes))
        yield found


def _here(place: Path | str, kept: ExitStack) -> Opened:
    """The folder itself, or a copy of what is elsewhere."""
    if isinstance(place, Path):
        return Opened(folder=place)
    in_store = object_stores.is_address(place)
    if not in_store and not server_tables.is_place(place):
        return Opened(folder=Path(place))
    folder = Path(kept.enter_context(TemporaryDirectory(prefix="shoal-"))) / _NAME
    folder.mkdir()
    kept.enter_context(_named(folder))
    if not in_store:
        findings, notes = fetch_from_database(place, folder)
        return Opened(folder=folder, findings=tuple(findings), notes=tuple(notes))
    object_stores.fetch(place, folder)
    if not (folder / RELEASE_FILE).exists() and not (folder / PACKAGE_FILE).exists():
        raise InputError(
            f"there is no complete release at that address: it has neither {RELEASE_FILE} nor "
            f"{PACKAGE_FILE}, which is written last"
        )
    return Opened(folder=folder)


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Let messages say the name of a file, not where its copy lay."""
    try:
        yield
    except InputError as error:
        told = error.cli_message.replace(f"{folder}/", "").replace(str(folder), "the release")
        raise InputError(told) from error
