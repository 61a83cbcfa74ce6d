"""Many names as arrays; strings are made only on access."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Self, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.runtime.arrays import Integers, distinct

AT_ONCE: Final = 1 << 16  # names that are strings at once
PSEUDONYM_DIGITS: Final = 16
PSEUDONYM: Final = re.compile(r"[0-9a-f]{16}")  # as Randomness draws them
_SPELLED: Final = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype=np.uint16)
Words = npt.NDArray[np.uint64]


class _Names(Sequence[str]):
    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), AT_ONCE):
            yield from self._strings(first, min(first + AT_ONCE, len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return id(self)

    @abstractmethod
    def _strings(self, first: int, stop: int) -> list[str]: ...


class TextNames(_Names):
    """Arbitrary names, in Arrow."""

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
        """The names at these places."""
        return type(self)(self.column.take(pa.array(places)))

    def _strings(self, first: int, stop: int) -> list[str]:
        strings: list[str] = self.column.slice(first, stop - first).to_pylist()
        return strings


class Pseudonyms(_Names):
    """Names of 16 hexadecimal digits, as numbers."""

    def __init__(self, numbers: Words, irregular: Mapping[int, str] | None = None) -> None:
        self.numbers, self.irregular = numbers, irregular or {}  # irregular: by place, ascending; number 0

    @classmethod
    def of(cls, names: Iterable[str]) -> "Pseudonyms":
        """Convert names."""
        if isinstance(names, Pseudonyms):
            return names
        parts, first, rest = [np.empty(0, dtype=np.uint64)], 0, iter(names)
        irregular: dict[int, str] = {}
        while some := list(islice(rest, AT_ONCE)):
            irregulars = {first + at: name for at, name in enumerate(some) if not PSEUDONYM.fullmatch(name)}
            digits = [
                "0" * PSEUDONYM_DIGITS if first + at in irregulars else name for at, name in enumerate(some)
            ]
            read = np.frombuffer(bytes.fromhex("".join(digits if irregulars else some)), dtype=">u8")
            parts.append(read.astype(np.uint64))
            irregular |= irregulars
            first += len(some)
        return cls(np.concatenate(parts), irregular)

    @classmethod
    def concatenate(cls, parts: Sequence["Pseudonyms"]) -> "Pseudonyms":
        """All parts in order."""
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(
            np.concatenate([np.empty(0, dtype=np.uint64), *(part.numbers for part in parts)]),
            {
                start + at: name
                for start, part in zip(starts, parts, strict=False)
                for at, name in part.irregular.items()
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
            return (
                self.take(np.arange(len(self))[place]) if self.irregular else Pseudonyms(self.numbers[place])
            )
        at = range(len(self))[place]
        return self.irregular[at] if at in self.irregular else f"{int(self.numbers[at]):0{PSEUDONYM_DIGITS}x}"

    def take(self, places: Integers) -> "Pseudonyms":
        """The names at these places."""
        if not self.irregular:
            return Pseudonyms(self.numbers[places])
        irregular_places = np.flatnonzero(np.isin(places, list(self.irregular))).tolist()
        return Pseudonyms(
            self.numbers[places], {at: self.irregular[int(places[at])] for at in irregular_places}
        )

    def equals(self, others: "Pseudonyms") -> bool:
        """Whether these are the same names in order."""
        return self.irregular == others.irregular and np.array_equal(self.numbers, others.numbers)

    @property
    def regular(self) -> Words:
        """The numbers of regular names."""
        return np.delete(self.numbers, list(self.irregular)) if self.irregular else self.numbers

    def distinct(self) -> "Pseudonyms":
        """Each name once, ascending; irregular ones last."""
        numbers, names = distinct(self.regular), sorted(set(self.irregular.values()))
        together = np.concatenate([numbers, np.zeros(len(names), dtype=np.uint64)])
        return Pseudonyms(together, dict(enumerate(names, start=len(numbers))))

    def duplicate_positions(self) -> list[int]:
        """Positions of repeated names, ascending."""
        if self.irregular:
            seen: set[str] = set()
            places = []
            for at, name in enumerate(self):
                if name in seen:
                    places.append(at)
                seen.add(name)
            return places
        order = np.argsort(self.numbers, kind="stable")
        is_duplicate = self.numbers[order[1:]] == self.numbers[order[:-1]]
        return np.sort(order[1:][is_duplicate]).tolist()  # type: ignore[no-any-return]  # integers

    def positions_of(self, others: "Pseudonyms") -> Integers:
        """int64 [others]: position of each, -1 = none; of equal names the last."""
        if self.irregular or others.irregular or not len(self):
            return _by_name(self, others)
        order = np.argsort(self.numbers, kind="stable")
        after = np.searchsorted(self.numbers[order], others.numbers, side="right")
        places = order[after - 1]
        places[self.numbers[places] != others.numbers] = -1
        return places

    @property
    def column(self) -> pa.Array:
        """As Arrow strings."""
        if self.irregular:
            return pa.array(list(self), pa.string())
        text = _SPELLED[self.numbers.astype(">u8").view(np.uint8)]
        ends = np.arange(0, PSEUDONYM_DIGITS * len(self) + 1, PSEUDONYM_DIGITS, dtype=np.int32)
        return pa.StringArray.from_buffers(len(self), pa.py_buffer(ends), pa.py_buffer(text))

    def _strings(self, first: int, stop: int) -> list[str]:
        text = self.numbers[first:stop].astype(">u8").tobytes().hex()
        strings = [text[at : at + PSEUDONYM_DIGITS] for at in range(0, len(text), PSEUDONYM_DIGITS)]
        for place in self.irregular:
            if first <= place < stop:
                strings[place - first] = self.irregular[place]
        return strings


def positions_among(names: Sequence[str], others: Sequence[str]) -> Integers:
    """int64 [others]: position of each among distinct names; -1 = none."""
    if isinstance(names, TextNames) and isinstance(others, TextNames):
        places = np.asarray(pc.index_in(others.column, names.column).fill_null(-1), dtype=np.int64)
        pa.default_memory_pool().release_unused()  # a table of all names
        return places
    return _by_name(names, others)


def column(names: Sequence[str]) -> pa.Array:
    """Names as Arrow strings."""
    return names.column if isinstance(names, TextNames | Pseudonyms) else pa.array(list(names), pa.string())


def _by_name(names: Sequence[str], others: Sequence[str]) -> Integers:
    places = {name: at for at, name in enumerate(names)}
    return np.fromiter((places.get(name, -1) for name in others), dtype=np.int64, count=len(others))
