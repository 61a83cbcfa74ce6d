"""The state of a series: a secret folder with a table of its people and a file of facts.

``series.json`` names the table. A release writes a new table and ``next.json``, which replaces
``series.json`` once the folder of the release has its name. Where ``next.json`` is still there, a command was
killed in between: if the release is not in its folder either, nobody can tell whether it was published. It
then counts as published, which breaks no promise, and its period may be published again.
"""

import hashlib
import io
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from shoal.errors import InputError, OutputError
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.checkpoint import locked_folder
from shoal.runtime.files import sha256_of
from shoal.runtime.staging import explain_write_errors, write_private
from shoal.series.attendance import Attended, count_companions, has_later

FACTS_FILE: Final = "series.json"
_NEXT: Final = "next.json"
_NAME_BYTES: Final = 16
_STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True)
_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "in lower case": str.lower,
    "in upper case": str.upper,
    "without zeros in front": lambda name: name.lstrip("0"),
    "with a zero in front": lambda name: f"0{name}",
    "with two zeros in front": lambda name: f"00{name}",
    "without a plus sign": lambda name: name.lstrip("+"),
    "with a plus sign": lambda name: f"+{name}",
    "without '.0' at the end": lambda name: name.removesuffix(".0"),
    "with '.0' at the end": lambda name: f"{name}.0",
    "without blanks or quotes around": lambda name: name.strip(" \t\"'"),
}

Names = npt.NDArray[np.bytes_]


class PeriodRelease(BaseModel):
    """A release of a series: its period in seconds since 1970, and numbers of people."""

    model_config = _STRICT

    series: int  # 1 for the first of this state, and 1 more after each renewal
    first_s: float
    end_s: float
    people: int
    published: int
    waiting: int
    newcomers: int
    crowds: int
    digest: str  # SHA-256 of the table
    folder: str
    uncertain: bool = False  # a command was killed when it gave the folder its name


class SeriesFacts(BaseModel):
    """The content of ``series.json``."""

    model_config = _STRICT

    version: Literal[1, 2] = 2
    k: int
    salt: str
    table: str
    table_sha256: str
    releases: tuple[PeriodRelease, ...]
    erased: tuple[str, ...] = ()  # salted names, in hexadecimal; of all series of this state


@dataclass(frozen=True, eq=False, kw_only=True)
class Members:
    """The people of the current series."""

    names: Names  # [n] salted, ascending
    crowd: Integers  # [n]
    attended: Attended  # [n, words] a bit for each release of the current series

    @classmethod
    def empty(cls) -> "Members":
        """Of a series without a release."""
        return cls(
            names=np.empty(0, dtype=f"S{_NAME_BYTES}"),
            crowd=np.empty(0, dtype=np.int64),
            attended=np.empty((0, 1), dtype=np.uint64),
        )

    def places_of(self, names: Names) -> Integers:
        """[m] the row of each name, -1 without one."""
        if not len(self.names):
            return np.full(len(names), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.names, names), len(self.names) - 1)
        return np.where(self.names[at] == names, at, -1)


class SeriesState:
    """The state of a series, in memory; ``stage`` writes the next one."""

    def __init__(self, folder: Path, facts: SeriesFacts, members: Members) -> None:
        self.folder, self.facts, self.members = folder, facts, members

    @classmethod
    def read(cls, folder: Path) -> "SeriesState":
        """The state in a folder; InputError when there is none, or it is damaged."""
        facts = _read_facts(folder / FACTS_FILE)
        table = folder / facts.table
        try:
            content = table.read_bytes()
            if hashlib.sha256(content).hexdigest() != facts.table_sha256:
                raise ValueError("another digest")
            # with a file object of Python, Arrow's threads may abort a process that ends at once
            columns = pq.read_table(pa.BufferReader(content))
            members = Members(
                names=np.array(columns["name"].to_pylist(), dtype=f"S{_NAME_BYTES}"),
                crowd=columns["crowd"].to_numpy(),
                attended=np.stack(
                    [columns[name].to_numpy() for name in columns.column_names[2:]], axis=1
                ).astype(np.uint64),
            )
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise InputError(
                f"{table} is missing or damaged; restore the folder from a copy, or begin anew with --renew"
            ) from error
        state = cls(folder, facts, members)
        if has_later(members.attended, len(state.releases)):
            raise InputError(
                f"{folder / FACTS_FILE} lacks releases that are in {table}; restore the folder from a copy"
            )
        return state

    @classmethod
    @contextmanager
    def writing(cls, folder: Path, k: int = 0, *, renew: bool = False) -> Iterator["SeriesState"]:
        """A locked state; what the block stages counts if it succeeds, and is removed otherwise.

        k: of a renewed series.
        """
        existed = folder.exists()
        if not renew:
            require_series(folder)
        with locked_folder(folder, "and run the same command again"):
            if not os.access(folder, os.W_OK):  # found now, and not after the work
                raise OutputError(f"cannot write in {folder}, which this command changes; make it writable")
            _finish_interrupted(folder)
            state = cls._renewed(folder, k) if renew else cls.read(folder)
            before = state.facts.table
            try:
                yield state
            except BaseException:
                if _is_written(folder):  # interrupted after the release got its name
                    (folder / _NEXT).replace(folder / FACTS_FILE)
                    _remove_tables(folder, but=state.facts.table)
                    raise
                with suppress(OSError):  # what stays does no harm: the next command removes it
                    (folder / _NEXT).unlink(missing_ok=True)
                    _remove_tables(folder, but=before)
                    if not existed:
                        folder.rmdir()
                raise
            with suppress(OSError):  # otherwise the next command does it
                (folder / _NEXT).replace(folder / FACTS_FILE)
                _remove_tables(folder, but=state.facts.table)

    @classmethod
    def _renewed(cls, folder: Path, k: int) -> "SeriesState":
        if (folder / FACTS_FILE).exists():  # its salt stays, as erased people are known by it
            facts = _read_facts(folder / FACTS_FILE).model_copy(update={"k": k})
        else:
            facts = SeriesFacts(k=k, salt=secrets.token_hex(32), table="", table_sha256="", releases=())
        return cls(folder, facts, Members.empty())

    @property
    def number(self) -> int:
        """The number of the current series in this state."""
        last = max((release.series for release in self.facts.releases), default=0)
        return last if len(self.members.names) else last + 1

    @property
    def releases(self) -> list[PeriodRelease]:
        """The releases of the current series, in order."""
        return [release for release in self.facts.releases if release.series == self.number]

    def names_of(self, ids: Sequence[str]) -> Names:
        """[n] salted names."""
        salt = bytes.fromhex(self.facts.salt)
        return np.array(
            [hashlib.blake2b(name.encode(), key=salt, digest_size=_NAME_BYTES).digest() for name in ids],
            dtype=f"S{_NAME_BYTES}",
        )

    def are_erased(self, names: Names) -> Flags:
        """[n] whether each was erased, of salted names."""
        marks = np.array([bytes.fromhex(mark) for mark in self.facts.erased], dtype=names.dtype)
        return np.isin(names, marks)

    def are_known(self, names: Names) -> Flags:
        """[n] whether each is of the current series or was erased, of salted names."""
        return (self.members.places_of(names) >= 0) | self.are_erased(names)

    def known_otherwise(self, ids: Sequence[str]) -> Counter[str]:
        """How many ids are not known as they are, but in another form, by form."""
        found: Counter[str] = Counter()
        if not self.facts.erased and not len(self.members.names):
            return found
        unknown = list(compress(ids, ~self.are_known(self.names_of(ids))))
        for form, change in _FORMS.items():
            known = self.are_known(self.names_of([change(name) for name in unknown]))
            found[form] = int(np.count_nonzero(known))
            unknown = list(compress(unknown, ~known))
        return +found

    def erase(self, ids: Sequence[str]) -> int:
        """Stage the state without these people and a mark of each, so that none comes back; how many were."""
        if forms := self.known_otherwise(ids):
            raise InputError(
                f"nobody was erased: of these ids, the series in {self.folder} knows "
                f"{forms_in_words(forms)}; write each as in the data"
            )
        members, names = self.members, self.names_of(ids)
        rows = members.places_of(names)
        marks = {*self.facts.erased, *(name.hex() for name in names.tolist())}
        self.facts = self.facts.model_copy(update={"erased": tuple(sorted(marks))})
        stays = np.ones(len(members.names), dtype=np.bool_)
        stays[rows[rows >= 0]] = False
        self.stage(
            Members(names=members.names[stays], crowd=members.crowd[stays], attended=members.attended[stays])
        )
        return int(np.count_nonzero(~stays))

    def stage(self, members: Members, release: PeriodRelease | None = None) -> None:
        """Write the next state; after a release, it counts once the folder of the release has its name."""
        words = [pa.array(column) for column in members.attended.T]
        table = pa.table(
            [pa.array(members.names.tolist(), pa.binary()), pa.array(members.crowd), *words],
            names=["name", "crowd", *(f"attended_{word}" for word in range(len(words)))],
        )
        content = io.BytesIO()
        pq.write_table(table, content)
        path = self.folder / f"people-{secrets.token_hex(6)}.parquet"
        write_private(path, content.getvalue())
        update = {
            "version": 2,
            "table": path.name,
            "table_sha256": hashlib.sha256(content.getvalue()).hexdigest(),
            "releases": (*self.facts.releases, *([] if release is None else [release])),
        }
        self.members, self.facts = members, self.facts.model_copy(update=update)
        write_private(self.folder / _NEXT, self.facts.model_dump_json(indent=1))


def forms_in_words(forms: Counter[str]) -> str:
    """Such as "2 in lower case, 1 without zeros in front"."""
    return ", ".join(f"{n:,} {form}" for form, n in forms.most_common())


def require_series(folder: Path) -> None:
    """Raise InputError where no series is, not even one that was interrupted."""
    if not (folder / FACTS_FILE).exists() and not (folder / _NEXT).exists():
        _read_facts(folder / FACTS_FILE)


def _read_facts(path: Path) -> SeriesFacts:
    try:
        return SeriesFacts.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(
            f"{path.parent} holds no series; check the path. --renew begins a series there, and its report "
            "says that releases before it do not count: a series whose state is lost ends"
        ) from error
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{path} cannot be read, or is of a later version of shoal; restore it from a copy"
        ) from error


def _finish_interrupted(folder: Path) -> None:
    if not (folder / _NEXT).exists():
        return
    facts = _read_facts(folder / _NEXT)
    if not _is_written(folder):
        *others, last = facts.releases
        releases = (*others, last.model_copy(update={"uncertain": True}))
        write_private(
            folder / _NEXT, facts.model_copy(update={"releases": releases}).model_dump_json(indent=1)
        )
    with explain_write_errors(folder):
        (folder / _NEXT).replace(folder / FACTS_FILE)


def _is_written(folder: Path) -> bool:
    """Whether the release that the next state is about is in its folder, or it is about none."""
    if not (folder / _NEXT).exists():
        return False
    releases = _read_facts(folder / _NEXT).releases
    if (folder / FACTS_FILE).exists() and releases == _read_facts(folder / FACTS_FILE).releases:
        return True
    try:
        return sha256_of(Path(releases[-1].folder) / "release.parquet") == releases[-1].digest
    except OSError:
        return False


def _remove_tables(folder: Path, *, but: str) -> None:
    for path in (*folder.glob("people-*.parquet"), *folder.glob(".*.partial-*")):
        if path.name != but:
            path.unlink(missing_ok=True)


def standing_of(state: SeriesState) -> dict[str, Any]:
    """Releases of the current series, its people, and crowds by how many people each can still lose.

    A crowd can lose the fewest companions of its people, less k. Only people of the last release count.
    """
    members, k = state.members, state.facts.k
    last = len(state.releases) - 1
    present = np.flatnonzero(members.attended[:, last // 64] >> np.uint64(last % 64) & np.uint64(1))
    companions = count_companions(members.crowd[present], members.attended[present])
    crowds, place = np.unique(members.crowd[present], return_inverse=True)
    fewest = np.full(len(crowds), np.iinfo(np.int64).max)
    np.minimum.at(fewest, place, companions)
    spare, number = np.unique(fewest - k, return_counts=True)
    return {
        "series": state.number,
        "k": k,
        "people": len(members.names),
        "crowds_by_spare": {str(s): n for s, n in zip(spare.tolist(), number.tolist(), strict=True)},
        "releases": [
            {
                "first": _moment(release.first_s),
                "end": _moment(release.end_s),
                **release.model_dump(include={"people", "published", "waiting", "newcomers", "crowds"}),
                "uncertain": release.uncertain,
            }
            for release in state.releases
        ],
    }


def _moment(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
