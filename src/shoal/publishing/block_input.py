"""Whether the input of work in blocks is still the one that it began with.

Names, sizes and times of change decide that quickly, and are part of the job. Who gives an edited file its
old time back, or copies it, changes its number or the time that the system keeps; then the content decides.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, OtherJobError
from shoal.io.sources import states
from shoal.model.people_on_disk import PEOPLE_FILE
from shoal.runtime.arrays import Numbers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.run import Run
from shoal.runtime.tasks import Engine, carried_out
from shoal.scale.anonymizing import PEOPLE

INPUT: Final = "input"


class BlockInput:
    """The files of an input, as they are at this moment."""

    def __init__(self, source: str | Path) -> None:
        self._source = source
        self._files = states(source)

    def job(self) -> list[Any]:
        """What a job that uses other files must differ in."""
        return [(file.name, file.size, file.changed_ns) for file in self._files]

    def require_same(self, checkpoint: Checkpoint, engine: Engine, run: Run) -> None:
        """Raises OtherJobError where these are not the files that the job began to read."""
        if not (checkpoint.folder / PEOPLE / PEOPLE_FILE).exists():  # which is begun anew
            (checkpoint.folder / f"{INPUT}.npz").unlink(missing_ok=True)
        begun = checkpoint.kept(
            INPUT, lambda: {"signs": self._signs(), "digests": self._digests(engine, run)}
        )
        if np.array_equal(begun["signs"], self._signs()):
            return
        same = (begun["digests"] == self._digests(engine, run)).all(axis=1)
        if not same.all():
            name = self._files[int(np.argmin(same))].name
            raise OtherJobError(
                f"{name} is not what it was when the work in {checkpoint.folder} was begun; bring back the "
                "file that it was, or remove the folder to start anew"
            )

    def require_unchanged(self) -> None:
        """Raises InputError where a file was changed since this began."""
        now = states(self._source)
        if now != self._files:
            names = [before.name for before in self._files if before not in now] or ["the input"]
            raise InputError(
                f"{names[0]} changed while it was read; wait until it is written, and give the same command "
                "again"
            )

    def _signs(self) -> Numbers:
        return np.array([file.signs for file in self._files], dtype=np.uint64).reshape(-1, 2)

    def _digests(self, engine: Engine, run: Run) -> Numbers:
        paths = [file.path for file in self._files if file.path is not None]
        found = list(carried_out(digest_of_file, paths, engine, run, "looking at the input"))
        return np.array([list(digest) for digest in found], dtype=np.uint8).reshape(-1, 32)


def digest_of_file(path: Path) -> bytes:
    """SHA-256 of its content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
