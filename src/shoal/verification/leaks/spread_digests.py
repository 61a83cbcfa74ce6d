"""Hash very many identifiers in tasks; they leave no other trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.model.names import column
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.verification.leaks.digests import (
    IDS_AT_ONCE,
    SPELLINGS,
    Digests,
    PrefixSearch,
    RunIndex,
    RunSearch,
    digests_beginning,
    made_in_full,
    mark_spelled_runs,
)
from shoal.verification.leaks.plain_hashes import Codes, digest_rows

_IDS_OF_A_TASK: Final = 16 * IDS_AT_ONCE
_IDS: Final = "ids.arrow"
_FIRST: Final = "first.npy"


@dataclass(frozen=True, kw_only=True)
class DigestTask:
    """A part of the identifiers, and the spellings."""

    folder: Path
    part: int
    n_ids: int  # of all parts
    spellings: tuple[int, ...]


class DigestMatches(NamedTuple):
    """What hashes of one part share with the search terms."""

    beginnings: list[tuple[bytes, int]]  # hashes that begin like a name, and digits that must agree
    runs: list[tuple[Integers, int]]  # for each spelling, places of shared runs, and the number compared


def compare_part(task: DigestTask) -> DigestMatches:
    """Hash one part and compare."""
    first = _mapped(task.folder / _FIRST)
    indexes = [
        (SPELLINGS[number], RunIndex(*map(_mapped, _files(task.folder, number)))) for number in task.spellings
    ]
    hits = [np.zeros(len(index.windows), dtype=np.bool_) for _, index in indexes]
    looked = [0] * len(indexes)
    beginnings: list[tuple[bytes, int]] = []
    for digests in _digests(task):
        beginnings += digests_beginning(first, digests)
        for place, (spelling, index) in enumerate(indexes):
            looked[place] += mark_spelled_runs(spelling, digests, index, hits[place])
    return DigestMatches(beginnings, list(zip(map(np.flatnonzero, hits), looked, strict=True)))


class SpreadDigests(Digests):
    """Hashes made and compared by an engine; scratch: an empty folder for workers."""

    def __init__(self, ids: Sequence[str], scratch: Path, engine: Engine, run: Run) -> None:
        super().__init__(ids)
        self._folder, self._engine, self._run = scratch, engine, run
        self._n_parts = -(-len(ids) // _IDS_OF_A_TASK)
        uids = column(ids)
        with (
            pa.OSFile(str(scratch / _IDS), "wb") as file,
            pa.ipc.new_file(file, pa.schema([("id", pa.string())])) as writer,
        ):
            for start in range(0, len(ids), _IDS_OF_A_TASK):
                writer.write_batch(pa.record_batch([uids.slice(start, _IDS_OF_A_TASK)], names=["id"]))

    def compare(self, prefixes: PrefixSearch, searches: Sequence[RunSearch]) -> None:
        """As Digests.compare; a single part needs no task."""
        if self._n_parts < 2:
            super().compare(prefixes, searches)
            return
        np.save(self._folder / _FIRST, prefixes.first)
        numbers = tuple(SPELLINGS.index(search.spelling) for search in searches)
        for number, search in zip(numbers, searches, strict=True):
            for name, file in zip(RunIndex._fields, _files(self._folder, number), strict=True):
                np.save(file, getattr(search.index, name))
        tasks = [
            DigestTask(folder=self._folder.resolve(), part=part, n_ids=len(self._ids), spellings=numbers)
            for part in range(self._n_parts)
        ]
        for results in run_tasks(compare_part, tasks, self._engine, self._run, "seeking hashes"):
            prefixes.mark(results.beginnings)
            for search, (places, looked) in zip(searches, results.runs, strict=True):
                search.hits[places] = True
                search.compared += looked


def _files(folder: Path, spelling: int) -> list[Path]:
    return [folder / f"{part}-{spelling}.npy" for part in RunIndex._fields]


def _mapped(path: Path) -> Any:
    """Writable (copy-on-write): kernels are not compiled for read-only arrays."""
    return np.asarray(np.load(path, mmap_mode="c"))


def _digests(task: DigestTask) -> Iterator[Codes]:
    with pa.memory_map(str(task.folder / _IDS)) as file:
        ids = pa.ipc.open_file(file).get_batch(task.part).column(0).to_pylist()
    for start in range(0, len(ids), IDS_AT_ONCE):
        in_full = made_in_full(task.part * _IDS_OF_A_TASK + start, task.n_ids)
        yield digest_rows(ids[start : start + IDS_AT_ONCE], in_full=in_full)
