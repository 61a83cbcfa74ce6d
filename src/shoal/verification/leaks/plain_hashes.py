"""Make plain hashes of identifiers: all functions of hashlib, in the ways that people use them.

``digest_rows`` writes the hashes of one identifier into one row, for searches through bytes.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SHORTEST_PREFIX: Final = 8  # hexadecimal digits of a hash that are a whole name
_APART: Final = 15  # bytes after which all spellings start again
# filling between two hashes; a name holds it only by chance, like a hash
_FILLING: Final = hashlib.sha256(b"between two hashes").digest()
_LONGEST_ID: Final = 60  # bytes of an identifier to search for in other spellings
_SHAKE_BYTES: Final = 64  # a shorter digest is the beginning of a longer one
_CHECKSUM_BYTES: Final = 8  # CRC-32 twice
_COMMON: Final = frozenset({"md5", "sha1", "sha256", "sha512"})  # rarer uses of these are made for all
_COMMON_BLAKE_SIZES: Final = frozenset({8, 16, 20, 32})

# bytes of a digest, and an empty hash, copied for each text: half the time of a new one
_Hash = tuple[int, Any]
Codes = npt.NDArray[np.uint8]


def _hashes_of_hashlib(names: Iterable[str]) -> Iterator[_Hash]:
    for name in sorted(names):
        try:
            empty = hashlib.new(name, usedforsecurity=False)
        except ValueError:  # known to the library, and switched off
            continue
        yield empty.digest_size or _SHAKE_BYTES, empty


def digests_of(empty: Any, texts: Iterable[bytes]) -> list[bytes]:
    """The digest of each text. empty: a hash without input, of any library that copies hashes."""
    size, digests = empty.digest_size, list[bytes]()
    for text in texts:
        copy = empty.copy()
        copy.update(text)
        digests.append(copy.digest() if size else copy.digest(_SHAKE_BYTES))
    return digests


COMMON_HASHES: Final = tuple(_hashes_of_hashlib(_COMMON & hashlib.algorithms_available))
HASHES: Final = (*COMMON_HASHES, *_hashes_of_hashlib(hashlib.algorithms_available - _COMMON))
_BLAKES: Final[tuple[_Hash, ...]] = tuple(  # of each size another function
    (size, make(digest_size=size))
    for make in (hashlib.blake2b, hashlib.blake2s)
    for size in range(SHORTEST_PREFIX // 2, make.MAX_DIGEST_SIZE)
)
_CHANGES: Final[tuple[Callable[[bytes], bytes], ...]] = (
    bytes.upper,
    bytes.lower,
    lambda uid: uid + b"\n",
    lambda uid: uid + b"\r\n",
)


@dataclass(frozen=True)
class RarerHashes:
    """Hashes of changed identifiers and of hashes, and BLAKE2 of other sizes; only the first bytes."""

    hashes: tuple[_Hash, ...]
    blakes: tuple[_Hash, ...]

    def sizes(self) -> Iterator[int]:
        """Bytes of each column that count."""
        for size, _ in self.blakes:
            yield min(size, _APART)
        for size, _ in self.hashes:
            yield from [min(size, _APART)] * (len(_CHANGES) + 2)

    def columns(
        self, encoded: list[bytes], changed: list[list[bytes]], digests: list[list[bytes]]
    ) -> Iterator[list[bytes]]:
        """The hashes. changed: by each change; digests: by each of ``hashes``."""
        for _, empty in self.blakes:
            yield digests_of(empty, encoded)
        for (_, empty), column in zip(self.hashes, digests, strict=True):
            for texts in (*changed, column, [digest.hex().encode() for digest in column]):
                yield column if texts == encoded else digests_of(empty, texts)


_OF_ALL: Final = RarerHashes(
    COMMON_HASHES, tuple(blake for blake in _BLAKES if blake[0] in _COMMON_BLAKE_SIZES)
)
_OF_SOME: Final = RarerHashes(
    HASHES[len(COMMON_HASHES) :], tuple(blake for blake in _BLAKES if blake[0] not in _COMMON_BLAKE_SIZES)
)
N_PLAIN: Final = 1 + len(HASHES)  # the identifier and its hashes, the first columns
# bytes of each column, and where it begins
SIZES: Final = (
    _LONGEST_ID,
    *(size for size, _ in HASHES),
    *_OF_ALL.sizes(),
    *_OF_SOME.sizes(),
    *(_CHECKSUM_BYTES for _ in (bytes, *_CHANGES)),
)
STARTS: Final = tuple(sum(-(-size // _APART) for size in SIZES[:n]) * _APART for n in range(len(SIZES) + 1))
BYTES_OF_ALL: Final = STARTS[N_PLAIN + len(tuple(_OF_ALL.sizes()))]  # without the rarest


def digest_rows(ids: Sequence[str], *, in_full: bool = True) -> Codes:
    """uint8 [n, bytes]: identifiers and hashes, at STARTS, filling between; in_full: also the rarest."""
    encoded = [uid.encode("utf-8", "surrogatepass") for uid in ids]
    changed = [[change(uid) for uid in encoded] for change in _CHANGES]
    plain = [digests_of(empty, encoded) for _, empty in HASHES]
    n_common = len(COMMON_HASHES)
    spelled_out = [(uid + 2 * _FILLING)[:_LONGEST_ID] for uid in encoded]  # in hexadecimal, or base64
    columns = chain([spelled_out], plain, _OF_ALL.columns(encoded, changed, plain[:n_common]))
    if in_full:
        checksums = ([zlib.crc32(uid).to_bytes(4, "big") * 2 for uid in uids] for uids in (encoded, *changed))
        columns = chain(columns, _OF_SOME.columns(encoded, changed, plain[n_common:]), checksums)
    filling = np.frombuffer(_FILLING, dtype=np.uint8)
    rows = np.empty((len(ids), STARTS[-1] if in_full else BYTES_OF_ALL), dtype=np.uint8)
    for start, end, size, column in zip(STARTS, STARTS[1:], SIZES, columns, strict=False):
        whole = np.frombuffer(b"".join(column), dtype=np.uint8).reshape(len(ids), -1)
        rows[:, start : start + size] = whole[:, :size]
        rows[:, start + size : end] = filling[: end - start - size]
    return rows
