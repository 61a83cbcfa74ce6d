"""Find pseudonyms and orders of records that follow from the identifiers of their own people.

Who computes a function of an identifier finds the record, however digits are cut, turned or filled up. A
random pseudonym agrees with a function of its own identifier in 16 bits at a given place in one of 65,536
records: so four records show a function, and one record shows 48 bits of it.
"""

import base64
import hashlib
import hmac
import re
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np

from shoal.model.names import Pseudonyms
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.verification.leaks.digests import FALSE_ALARMS, is_beyond_chance
from shoal.verification.leaks.forms import Words
from shoal.verification.leaks.plain_hashes import COMMON_HASHES, HASHES, Codes, digests_of

_MOST: Final = 32  # records, evenly chosen
_TESTS: Final = 1 << 20  # more than there are functions and places of agreement in them
_FEWEST_IN_ORDER: Final = 16
_BYTES: Final = 8  # of a pseudonym
_WEAK: Final = (b"0", b"key", b"salt", b"secret", b"password", b"pepper", b"test")
_NAMESPACES: Final = (uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL, uuid.NAMESPACE_OID, uuid.NAMESPACE_X500)
_HMACS: Final = tuple((word, name) for word in (b"", *_WEAK) for name in ("md5", "sha1", "sha256", "sha512"))
_HASHES_WITH_KEYS: Final = (
    *(hmac.new(key, digestmod=name) for key, name in _HMACS),
    *(
        make(space.bytes, usedforsecurity=False)
        for make in (hashlib.md5, hashlib.sha1)
        for space in _NAMESPACES
    ),
)
_ITERATIONS: Final = (1, 1000, 1024, 2048, 4096, 10_000)  # of PBKDF2; more take too long to try
_FORMS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    bytes.upper,
    bytes.lower,
    lambda uid: uid[::-1],
    lambda uid: uid * 2,
    lambda uid: uid + b"\n",
    lambda uid: uid + b"\r\n",
    lambda uid: b'"' + uid + b'"',
    lambda uid: b"'" + uid + b"'",
    lambda uid: uid.decode("utf-8", "replace").encode("utf-16-le"),
    lambda uid: re.sub(rb"\D", b"", uid),
    lambda uid: re.sub(rb"\D", b"", uid).lstrip(b"0"),
    lambda uid: re.sub(rb"\W*\d{4}-?\d{2}-?\d{2}$", b"", uid),  # the person of a day
    lambda uid: uid.hex().encode(),
    base64.b64encode,
    *((lambda uid, salt=salt: salt + uid) for salt in _WEAK),
    *((lambda uid, salt=salt: uid + salt) for salt in _WEAK),
)


def derived_names(ids: Sequence[str], subject_of: Integers, names: Pseudonyms) -> Iterator[Finding]:
    """Findings on pseudonyms and the order of records; subject_of: -1 = unknown."""
    linked = np.flatnonzero(subject_of >= 0)
    if not len(linked):
        return
    first = linked[[np.argmin(subject_of[linked])]]  # of all releases of the same people the same person
    linked = linked[np.unique(np.linspace(0, len(linked) - 1, min(_MOST, len(linked))).astype(int))]
    if names.irregular:
        return
    own = [ids[subject].encode("utf-8", "surrogatepass") for subject in subject_of[linked].tolist()]
    columns = list(_functions(own))
    whole = np.frombuffer(b"".join(chain.from_iterable(zip(*columns, strict=True))), dtype=np.uint8)
    whole = whole.reshape(len(own), -1)
    every_second: Codes = (whole[:, ::2] & np.uint8(0xF0)) | (whole[:, 1::2] >> np.uint8(4))
    halves = whole[:, :-_BYTES] ^ whole[:, _BYTES:]
    words = _words_of(names.numbers[linked])
    uid = ids[int(subject_of[first[0]])].encode("utf-8", "surrogatepass")
    slow = np.frombuffer(_slow_functions(uid), dtype=np.uint8)[None, :]
    agreeing = max(
        *(_count_agreeing(words, values) for values in (whole, every_second, halves)),
        _count_agreeing(_words_of(names.numbers[first]), slow),
    )
    if agreeing:
        message = (
            f"of {len(own)} pseudonyms looked at, {agreeing} hold digits that follow from their person's raw "
            "identifier by a function that anyone can compute; expected random ones"
        )
        yield Finding("raw-identifier", message)
    starts = np.cumsum([0, *(len(column[0]) for column in columns[:-1])]) // _BYTES
    steps = np.diff(whole.view(">u8")[:, starts].astype(np.float64), axis=0)
    if len(own) >= _FEWEST_IN_ORDER and ((steps > 0).all(axis=0) | (steps < 0).all(axis=0)).any():
        message = "the order of the records follows a function of the raw identifiers; expected a random one"
        yield Finding("record-order", message)


def _words_of(numbers: Words) -> Integers:
    """uint16 [n, 4, 4]: the pseudonyms as they are, digits reversed, bytes reversed, and inverted."""
    as_bytes = numbers.astype(">u8").view(np.uint8).reshape(-1, _BYTES)
    turned = (as_bytes[:, ::-1] << 4) | (as_bytes[:, ::-1] >> 4)
    every = np.stack([as_bytes, turned, as_bytes[:, ::-1], ~as_bytes], axis=1)
    return np.ascontiguousarray(every).view(np.uint16)


def _functions(own: list[bytes]) -> Iterator[list[bytes]]:
    """Each function of the identifiers, in whole words of 8 bytes."""
    yield [uid[:16].ljust(16, b"\0") for uid in own]
    numbers = [int(re.sub(rb"\D", b"", uid)[:15] or b"0") for uid in own]
    yield [number.to_bytes(_BYTES, "big") + bytes.fromhex(f"{number:016d}") for number in numbers]
    for form in (bytes, *_FORMS):
        texts = list(map(form, own))
        yield [zlib.crc32(text).to_bytes(4, "big") + zlib.adler32(text).to_bytes(4, "big") for text in texts]
        for _, empty in HASHES if form is bytes else COMMON_HASHES:
            yield _padded(digests_of(empty, texts))
    yield [_fnv_1a(uid) for uid in own]
    for empty in _HASHES_WITH_KEYS:
        yield _padded(digests_of(empty, own))
    for word, name in _HMACS:  # with the identifier as key
        yield _padded([hmac.digest(uid, word, name) for uid in own])
    for _, empty in COMMON_HASHES:
        digests = digests_of(empty, own)
        yield [bytes.fromhex(f"{int.from_bytes(digest, 'big') % 10**16:016d}") for digest in digests]
        for _ in range(2):  # twice and three times
            yield _padded(digests_of(empty, digests))
            digests = digests_of(empty, [digest.hex().encode() for digest in digests])
            yield _padded(digests)


@lru_cache(maxsize=256)
def _slow_functions(uid: bytes) -> bytes:
    """Those made to be slow, with a salt that anyone tries: a tenth of a second for one identifier."""
    return b"".join(
        [
            *(
                hashlib.pbkdf2_hmac(name, uid, salt, iterations, 32)
                for name in ("sha1", "sha256", "sha512")
                for salt in (b"", b"salt", uid)
                for iterations in _ITERATIONS
            ),
            hashlib.scrypt(uid, salt=b"", n=1 << 14, r=8, p=1, dklen=32),
        ]
    )


def _padded(digests: list[bytes]) -> list[bytes]:
    size = -(-len(digests[0]) // _BYTES) * _BYTES
    return [digest.ljust(size, b"\0") for digest in digests]


def _fnv_1a(text: bytes) -> bytes:
    value = 0xCBF29CE484222325
    for byte in text:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value.to_bytes(_BYTES, "big")


def _count_agreeing(words: Integers, values: Codes) -> int:
    """How many pseudonyms agree with their function in 16 bits or more, beyond chance; else 0."""
    others = np.ascontiguousarray(values).view(np.uint16)
    equal = words[:, :, :, None] == others[:, None, None, :]
    run = equal
    for length in range(1, words.shape[2] + 1):
        most = int(np.count_nonzero(run, axis=0).max())
        if not most:
            return 0
        if is_beyond_chance(most, len(words) / 2.0 ** (16 * length), FALSE_ALARMS / _TESTS):
            return most
        run = run[:, :, :-1, :-1] & equal[:, :, length:, length:]
    return 0
