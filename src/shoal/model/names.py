"""Names of very many people and records, as arrays; a string is made of one only where it is asked for."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Self, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.runtime.arrays import Integers, different

AT_ONCE: Final = 1 << 16  # names that are strings at once
_DIGITS: Final = 16
_REGULAR: Final = re.compile(r"[0-9a-f]{16}")
_SPELLED: Final = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype=np.uint16)
Words = npt.NDArray[np.uint64]


class _Names(Sequence[str]):
    """What names of either kind do as a sequence; equal to any sequence of the same strings."""

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), AT_ONCE):
            yield from self._strings(first, min(first + AT_ONCE, len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return id(self)

    @abstractmethod
    def _strings(self, first: int, behind: int) -> list[str]:
        """Those from ``first`` on, before ``behind``."""


class Texts(_Names):
    """Any texts. column: of Arrow."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> str | Self:
        if isinstance(place, slice):
            return type(self)(self.column[place])
        text: str = self.column[place].as_py()
        return text

    def take(self, places: Integers) -> Self:
        """Those at these places."""
        return type(self)(self.column.take(pa.array(places)))

    def _strings(self, first: int, behind: int) -> list[str]:
        strings: list[str] = self.column.slice(first, behind - first).to_pylist()
        return strings


class Pseudonyms(_Names):
    """Names of records, 16 hexadecimal digits each, as one number.

    numbers: uint64 [n]. strange: the names that are none, by their places, ascending; their numbers are 0.
    """

    def __init__(self, numbers: Words, strange: Mapping[int, str] | None = None) -> None:
        self.numbers, self.strange = numbers, strange or {}

    @classmethod
    def of(cls, names: Iterable[str]) -> "Pseudonyms":
        """These names."""
        if isinstance(names, Pseudonyms):
            return names
        parts, first, rest = [np.empty(0, dtype=np.uint64)], 0, iter(names)
        strange: dict[int, str] = {}
        while some := list(islice(rest, AT_ONCE)):
            own = {first + at: name for at, name in enumerate(some) if not _REGULAR.fullmatch(name)}
            digits = ["0" * _DIGITS if first + at in own else name for at, name in enumerate(some)]
            read = np.frombuffer(bytes.fromhex("".join(digits if own else some)), dtype=">u8")
            parts.append(read.astype(np.uint64))
            strange |= own
            first += len(some)
        return cls(np.concatenate(parts), strange)

    @classmethod
    def joined(cls, parts: Sequence["Pseudonyms"]) -> "Pseudonyms":
        """One after the other."""
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(
            np.concatenate([np.empty(0, dtype=np.uint64), *(part.numbers for part in parts)]),
            {
                start + at: name
                for start, part in zip(starts, parts, strict=False)
                for at, name in part.strange.items()
            },
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "Pseudonyms": ...
    def __getitem__(self, place: int | slice) -> "str | Pseudonyms":
        if isinstance(place, slice):
            return self.take(np.arange(len(self))[place]) if self.strange else Pseudonyms(self.numbers[place])
        at = range(len(self))[place]
        return self.strange[at] if at in self.strange else f"{int(self.numbers[at]):0{_DIGITS}x}"

    def take(self, places: Integers) -> "Pseudonyms":
        """Those at these places."""
        if not self.strange:
            return Pseudonyms(self.numbers[places])
        kept = np.flatnonzero(np.isin(places, list(self.strange))).tolist()
        return Pseudonyms(self.numbers[places], {at: self.strange[int(places[at])] for at in kept})

    def same_as(self, others: "Pseudonyms") -> bool:
        """Whether these are the same names in the same order."""
        return self.strange == others.strange and np.array_equal(self.numbers, others.numbers)

    @property
    def regular(self) -> Words:
        """The numbers of those that are 16 digits."""
        return np.delete(self.numbers, list(self.strange)) if self.strange else self.numbers

    def different(self) -> "Pseudonyms":
        """Each once, ascending; strange ones behind."""
        numbers, names = different(self.regular), sorted(set(self.strange.values()))
        together = np.concatenate([numbers, np.zeros(len(names), dtype=np.uint64)])
        return Pseudonyms(together, dict(enumerate(names, start=len(numbers))))

    def repeated(self) -> list[int]:
        """The places of those that stand before, too, ascending."""
        if self.strange:
            seen: set[str] = set()
            places = []
            for at, name in enumerate(self):
                if name in seen:
                    places.append(at)
                seen.add(name)
            return places
        order = np.argsort(self.numbers, kind="stable")
        again = self.numbers[order[1:]] == self.numbers[order[:-1]]
        return np.sort(order[1:][again]).tolist()  # type: ignore[no-any-return]  # integers

    def places_of(self, wanted: "Pseudonyms") -> Integers:
        """int64 [wanted]: where each stands here, -1 = nowhere; of equal ones the last."""
        if self.strange or wanted.strange or not len(self):
            return _by_name(self, wanted)
        order = np.argsort(self.numbers, kind="stable")
        behind = np.searchsorted(self.numbers[order], wanted.numbers, side="right")
        places = order[behind - 1]
        places[self.numbers[places] != wanted.numbers] = -1
        return places

    @property
    def column(self) -> pa.Array:
        """As Arrow's strings."""
        if self.strange:
            return pa.array(list(self), pa.string())
        text = _SPELLED[self.numbers.astype(">u8").view(np.uint8)]
        ends = np.arange(0, _DIGITS * len(self) + 1, _DIGITS, dtype=np.int32)
        return pa.StringArray.from_buffers(len(self), pa.py_buffer(ends), pa.py_buffer(text))

    def _strings(self, first: int, behind: int) -> list[str]:
        text = self.numbers[first:behind].astype(">u8").tobytes().hex()
        strings = [text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS)]
        for place in self.strange:
            if first <= place < behind:
                strings[place - first] = self.strange[place]
        return strings


def places_among(names: Sequence[str], wanted: Sequence[str]) -> Integers:
    """int64 [wanted]: where each stands among the names, all different; -1 = nowhere."""
    if isinstance(names, Texts) and isinstance(wanted, Texts):
        places = np.asarray(pc.index_in(wanted.column, names.column).fill_null(-1), dtype=np.int64)
        pa.default_memory_pool().release_unused()  # a table of all names
        return places
    return _by_name(names, wanted)


def column(names: Sequence[str]) -> pa.Array:
    """Any names as Arrow's strings."""
    return names.column if isinstance(names, Texts | Pseudonyms) else pa.array(list(names), pa.string())


def _by_name(names: Sequence[str], wanted: Sequence[str]) -> Integers:
    places = {name: at for at, name in enumerate(names)}
    return np.fromiter((places.get(name, -1) for name in wanted), dtype=np.int64, count=len(wanted))
