"""The input of work in blocks, and whether it is still the one that it began with.

Names, sizes and times of change decide that quickly, and are part of the job. Who gives an edited file its
old time back, or copies it, changes its number or the time that the system keeps; then the content decides.
A table of Spark's catalog is written into the job's folder once, and that copy is the input from then on.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, OtherJobError
from shoal.io.named_files import BY_SPARK, SPARK_TABLE, State, states
from shoal.io.pieces import columns_drawn
from shoal.model.intake import Reading
from shoal.runtime.arrays import Numbers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import partial_name
from shoal.scale.engine_spark import SparkCluster

INPUT: Final = "input"
TABLE: Final = "table"


class BlockInput:
    """The files of an input, as they are at this moment; those of a table of a catalog once it was fetched.

    source: what to read. cells: the table of cells' positions that it is read with. Raises InputError for a
    table without Spark.
    """

    def __init__(self, source: str | Path, engine: Engine, cells: str | None = None) -> None:
        self.source, self._cells = source, cells
        self._spark = engine if isinstance(engine, SparkCluster) else None
        text = str(source)
        self._table = text.removeprefix(SPARK_TABLE) if text.startswith(SPARK_TABLE) else None
        if self._table is not None and self._spark is None:
            raise InputError(BY_SPARK)
        self._files = self._states(None if self._table is not None else source)

    def job(self) -> list[Any]:
        """What a job that uses other files, or another table, must differ in."""
        told = [(file.name, file.size, file.changed_ns) for file in self._files]
        return told if self._table is None else [SPARK_TABLE, self._table, *told]

    def fetch(self, folder: Path, reading: Reading) -> None:
        """Have the needed columns of a table written into the job's folder, unless they are there."""
        if self._table is None or self._spark is None:
            return
        there, name = folder / TABLE, self._table
        if not there.exists():
            partial = partial_name(there)
            self._spark.write_table(name, lambda schema: columns_drawn(name, schema, reading), partial)
            partial.rename(there)
        self.source = there
        self._files = self._states(there)

    def require_same(self, checkpoint: Checkpoint, engine: Engine, run: Run) -> None:
        """Raises OtherJobError where these are not the files that the job began to read."""
        begun = checkpoint.load_or_make(
            INPUT, lambda: {"signs": self._signs(), "digests": self._digests(engine, run)}
        )
        if np.array_equal(begun["signs"], self._signs()):
            return
        same = (begun["digests"] == self._digests(engine, run)).all(axis=1)
        if not same.all():
            on_disk = [file.name for file in self._files if file.path is not None]
            name = on_disk[int(np.argmin(same))]
            raise OtherJobError(
                f"{name} is not what it was when the work in {checkpoint.folder} was begun; bring back the "
                "file that it was, or remove the folder to start anew"
            )

    def require_unchanged(self) -> None:
        """Raises InputError where a file was changed since this began."""
        now = self._states(self.source)
        if now != self._files:
            names = [before.name for before in self._files if before not in now] or ["the input"]
            raise InputError(
                f"{names[0]} changed while it was read; wait until it is written, and give the same command "
                "again"
            )

    def _states(self, source: str | Path | None) -> list[State]:
        """The files of a source, if there is one, and of the cells."""
        return [state for each in (source, self._cells) if each is not None for state in states(each)]

    def _signs(self) -> Numbers:
        return np.array([file.signs for file in self._files], dtype=np.uint64).reshape(-1, 2)

    def _digests(self, engine: Engine, run: Run) -> Numbers:
        paths = [file.path for file in self._files if file.path is not None]
        found = list(run_tasks(digest_of_file, paths, engine, run, "looking at the input"))
        return np.array([list(digest) for digest in found], dtype=np.uint8).reshape(-1, 32)


def digest_of_file(path: Path) -> bytes:
    """SHA-256 of its content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
