"""Hashes of very many identifiers, made and compared in tasks.

What is looked for lies in files that all tasks share; identifiers and hashes leave no trace of their own.
"""

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
    Codes,
    Digests,
    Prefixes,
    Search,
    Sought,
    beginning_with,
    mark_spelled,
    side_by_side,
)

_IDS_OF_A_TASK: Final = 16 * IDS_AT_ONCE
_IDS: Final = "ids.arrow"
_FIRST: Final = "first.npy"


@dataclass(frozen=True, kw_only=True)
class DigestTask:
    """One part of the identifiers in ``folder``, and the spellings in which runs are looked for there."""

    folder: Path
    part: int
    spellings: tuple[int, ...]


class Met(NamedTuple):
    """What the hashes of a part have in common with what is looked for.

    beginnings: hashes that begin as a name does. runs: for each spelling, the places of the runs that a hash
    has, and how many of its own were looked at.
    """

    beginnings: list[bytes]
    runs: list[tuple[Integers, int]]


def compare_part(task: DigestTask) -> Met:
    """Make the hashes of one part of the identifiers, and compare them."""
    first = _mapped(task.folder / _FIRST)
    wanted = [
        (SPELLINGS[number], Sought(*map(_mapped, _files(task.folder, number)))) for number in task.spellings
    ]
    met = [np.zeros(len(sought.windows), dtype=np.bool_) for _, sought in wanted]
    looked = [0] * len(wanted)
    beginnings: list[bytes] = []
    for digests in _digests(task.folder / _IDS, task.part):
        beginnings += beginning_with(first, digests)
        for place, (spelling, sought) in enumerate(wanted):
            looked[place] += mark_spelled(spelling, digests, sought, met[place])
    return Met(beginnings, list(zip(map(np.flatnonzero, met), looked, strict=True)))


class SpreadDigests(Digests):
    """The hashes of identifiers, made and compared by an engine.

    scratch: an empty folder that its workers reach; it holds the identifiers as long as the caller keeps it.
    """

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

    def compare(self, prefixes: Prefixes, searches: Sequence[Search]) -> None:
        """As Digests.compare; a single part is no task."""
        if self._n_parts < 2:
            super().compare(prefixes, searches)
            return
        np.save(self._folder / _FIRST, prefixes.first)
        numbers = tuple(SPELLINGS.index(search.spelling) for search in searches)
        for number, search in zip(numbers, searches, strict=True):
            for name, file in zip(Sought._fields, _files(self._folder, number), strict=True):
                np.save(file, getattr(search.sought, name))
        tasks = [
            DigestTask(folder=self._folder.resolve(), part=part, spellings=numbers)
            for part in range(self._n_parts)
        ]
        for found in run_tasks(compare_part, tasks, self._engine, self._run, "seeking hashes"):
            prefixes.take(found.beginnings)
            for search, (places, looked) in zip(searches, found.runs, strict=True):
                search.met[places] = True
                search.compared += looked


def _files(folder: Path, spelling: int) -> list[Path]:
    """Where the parts of what is sought lie."""
    return [folder / f"{part}-{spelling}.npy" for part in Sought._fields]


def _mapped(path: Path) -> Any:
    """An array of a file, as kernels take it: none that forbids writing, which they were not compiled for."""
    return np.asarray(np.load(path, mmap_mode="c"))


def _digests(path: Path, part: int) -> Iterator[Codes]:
    """The hashes of one part of the identifiers, a thousand at once."""
    with pa.memory_map(str(path)) as file:
        ids = pa.ipc.open_file(file).get_batch(part).column(0).to_pylist()
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield side_by_side(ids[start : start + IDS_AT_ONCE])
