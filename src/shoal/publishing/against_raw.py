"""Release folders against the raw input that they were made from, read again as each manifest says."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.io import read_with
from shoal.io.storing import store_people
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.folder import read_linkage, read_release, reading_of_raw
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write
from shoal.verification import verify_folder
from shoal.verification.composition.candidates import Issued
from shoal.verification.composition.several import Together, reveal_together
from shoal.verification.files.streamed import verify_streamed_folder


def verify_against_raw(
    raw: Any, folder: Path, linkage: Linkage | None, run: Run, **overrides: Any
) -> Verdict:
    """Read the raw input as the manifest says it was read, and check the folder against it.

    overrides: settings of the reading that take the place of the manifest's, such as other column names.
    """
    return verify_folder(read_raw_of(raw, folder, run, **overrides), folder, linkage, run=run)


def stream_against_raw(raw: Any, folder: Path, linkage: Linkage, run: Run, **overrides: Any) -> Verdict:
    """The same in little memory, with scratch files beside the release, which only their owner can read.

    They are removed at the end.
    """
    with (
        explained_write(folder),
        TemporaryDirectory(dir=folder.resolve().parent, prefix=f".{folder.name}.check-") as scratch,
    ):
        people = store_people(raw, reading_of_raw(folder, **overrides), Path(scratch) / "people", run)
        (Path(scratch) / "spread").mkdir()
        return verify_streamed_folder(people, folder, linkage, Path(scratch) / "spread", run)


def read_raw_of(raw: Any, folder: Path, run: Run, **overrides: Any) -> Trajectories:
    """The raw input of a release folder, read as its manifest says but for the overrides."""
    return read_with(raw, reading_of_raw(folder, **overrides), run)


def reveal(
    raw: Any, folder: Path, linkage: Path, earlier: Sequence[tuple[Path, Path]], run: Run, **overrides: Any
) -> Together:
    """What a release folder and earlier ones of the same raw data reveal together.

    Raises InputError when one cannot be read or does not belong; parameters as ``issued_releases``.
    """
    issued = issued_releases(raw, folder, linkage, earlier, run, **overrides)
    return reveal_together(issued[0], issued[1:])


def issued_releases(
    raw: Any, folder: Path, linkage: Path, earlier: Sequence[tuple[Path, Path]], run: Run, **overrides: Any
) -> list[Issued]:
    """A release folder and earlier ones, each with the raw data as its manifest says, the newest first.

    earlier: folders with their linkage tables.
    """
    return [
        Issued(
            label=f"the release {one}",
            original=read_raw_of(raw, one, run, **overrides),
            release=read_release(one),
            linkage=read_linkage(links),
        )
        for one, links in [(folder, linkage), *earlier]
    ]
