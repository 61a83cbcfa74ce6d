"""The input of work in blocks, and whether it is still the same.

Names, sizes and times of change decide. Where an old time was restored, the file's number or the system's
time differs; then the content decides. A table of Spark's catalog is copied once.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, OtherJobError
from shoal.io.read_tables import columns_drawn
from shoal.io.sources.named_files import BY_SPARK, SPARK_TABLE, State, states
from shoal.model.intake import Reading
from shoal.runtime.arrays import Numbers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import partial_name
from shoal.scale.engine_spark import SparkCluster

INPUT: Final = "input"
TABLE: Final = "table"


class BlockInput:
    """The files of an input; a table of Spark's catalog becomes files in ``fetch``."""

    def __init__(self, source: str | Path, engine: Engine, *beside: str | None) -> None:
        self.source, self._beside = source, beside
        self._spark = engine if isinstance(engine, SparkCluster) else None
        text = str(source)
        self._table = text.removeprefix(SPARK_TABLE) if text.startswith(SPARK_TABLE) else None
        if self._table is not None and self._spark is None:
            raise InputError(BY_SPARK)
        self._files = self._states(None if self._table is not None else source)

    def job(self) -> list[Any]:
        """The identity of the input."""
        files = [(file.name, file.size, file.changed_ns) for file in self._files]
        return files if self._table is None else [SPARK_TABLE, self._table, *files]

    def fetch(self, folder: Path, reading: Reading) -> None:
        """Have Spark write the needed columns into the job's folder, once."""
        if self._table is None or self._spark is None:
            return
        copy, name = folder / TABLE, self._table
        if not copy.exists():
            partial = partial_name(copy)
            self._spark.write_table(name, lambda schema: columns_drawn(name, schema, reading), partial)
            partial.rename(copy)
        self.source = copy
        self._files = self._states(copy)

    def require_same(self, checkpoint: Checkpoint, engine: Engine, run: Run) -> None:
        """Raise OtherJobError unless the job began with these files."""
        first = checkpoint.load_or_make(
            INPUT, lambda: {"signs": self._signs(), "digests": self._digests(engine, run)}
        )
        if np.array_equal(first["signs"], self._signs()):
            return
        same = (first["digests"] == self._digests(engine, run)).all(axis=1)
        if not same.all():
            on_disk = [file.name for file in self._files if file.path is not None]
            name = on_disk[int(np.argmin(same))]
            raise OtherJobError(
                f"{name} is not what it was when the work in {checkpoint.folder} was begun; bring back the "
                "file that it was, or remove the folder to start anew"
            )

    def require_unchanged(self) -> None:
        """Raise InputError when a file has changed."""
        now = self._states(self.source)
        if now != self._files:
            names = [before.name for before in self._files if before not in now] or ["the input"]
            raise InputError(
                f"{names[0]} changed while it was read; wait until it is written, and give the same command "
                "again"
            )

    def _states(self, source: str | Path | None) -> list[State]:
        return [state for place in (source, *self._beside) if place is not None for state in states(place)]

    def _signs(self) -> Numbers:
        return np.array([file.signs for file in self._files], dtype=np.uint64).reshape(-1, 2)

    def _digests(self, engine: Engine, run: Run) -> Numbers:
        paths = [file.path for file in self._files if file.path is not None]
        digests = list(run_tasks(digest_of_file, paths, engine, run, "looking at the input"))
        return np.array([list(digest) for digest in digests], dtype=np.uint8).reshape(-1, 32)


def digest_of_file(path: Path) -> bytes:
    """SHA-256 of its content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
