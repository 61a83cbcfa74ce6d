"""Pseudonyms and orders that follow from identifiers are found, however they are made."""

import hashlib
import hmac
import uuid
from collections.abc import Callable

import numpy as np
import pytest

from shoal.model.names import Pseudonyms
from shoal.verification.leaks.derived_names import derived_names


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def filled(digits: str) -> str:
    return digits + np.random.default_rng(len(digits)).bytes(8).hex()[len(digits) :]


WHOLE: dict[str, Callable[[str], str]] = {
    "a keyed hash without a key": lambda uid: hmac.new(b"", uid.encode(), "sha256").hexdigest()[:16],
    "a weak key": lambda uid: hmac.new(b"secret", uid.encode(), "md5").hexdigest()[:16],
    "the identifier as key": lambda uid: hmac.new(uid.encode(), b"salt", "sha1").hexdigest()[:16],
    "a salt that anyone tries": lambda uid: sha("salt" + uid)[:16],
    "a UUID of version 5": lambda uid: uuid.uuid5(uuid.NAMESPACE_DNS, uid).hex[:16],
    "digits reversed": lambda uid: sha(uid)[:16][::-1],
    "bytes reversed": lambda uid: bytes.fromhex(sha(uid)[:16])[::-1].hex(),
    "inverted": lambda uid: f"{int(sha(uid)[:16], 16) ^ (1 << 64) - 1:016x}",
    "last decimal digits": lambda uid: f"{int(sha(uid), 16) % 10**16:016d}",
    "every second digit": lambda uid: sha(uid)[::2][:16],
    "halves": lambda uid: f"{int(sha(uid)[:16], 16) ^ int(sha(uid)[16:32], 16):016x}",
    "three times": lambda uid: sha(sha(sha(uid)))[:16],
    "of the number alone": lambda uid: sha(uid[1:].lstrip("0"))[:16],
    "of the person of a day": lambda uid: sha(uid[:8])[:16],
}
SLOW: dict[str, Callable[[str], str]] = {
    "PBKDF2 without a salt": lambda uid: hashlib.pbkdf2_hmac("sha256", uid.encode(), b"", 10_000).hex()[:16],
    "PBKDF2 with itself as salt": lambda uid: hashlib.pbkdf2_hmac(
        "sha1", uid.encode(), uid.encode(), 1000
    ).hex()[4:20],
    "scrypt without a salt": lambda uid: hashlib.scrypt(uid.encode(), salt=b"", n=1 << 14, r=8, p=1).hex()[
        :16
    ],
}
IN_PART: dict[str, Callable[[str], str]] = {
    "doubled": lambda uid: sha(uid)[:8] * 2,
    "four digits four times": lambda uid: sha(uid)[:4] * 4,
    "behind zeros": lambda uid: "0" * 8 + sha(uid)[:8],
    "six digits, then chance": lambda uid: filled(sha(uid)[:6]),
}
IDS = [
    f"u{number:07d} 2024-05-01" for number in np.random.default_rng(1).permutation(9_000_000)[:20].tolist()
]
RANDOM = [f"{number:016x}" for number in np.random.default_rng(2).integers(0, 1 << 63, 20).tolist()]


def kinds(names: list[str], ids: list[str] = IDS) -> list[str]:
    return [one.kind for one in derived_names(ids, np.arange(len(ids)), Pseudonyms.of(names))]


@pytest.mark.parametrize("how", [*WHOLE, *SLOW, *IN_PART])
def test_a_function_of_the_identifier_is_found(how: str) -> None:
    make = (WHOLE | SLOW | IN_PART)[how]
    ids = IDS if "day" in how else [uid[:8] for uid in IDS]
    whole = [make(uid) for uid in ids[: 1 if how in SLOW else None]]  # slow functions of one person alone
    assert "raw-identifier" in kinds([*whole, *RANDOM[len(whole) : len(ids)]], ids)
    if how not in IN_PART:
        assert kinds([make(ids[0]), *RANDOM[1:]], ids) == ["raw-identifier"]


def test_random_pseudonyms_and_people_without_a_record_are_no_finding() -> None:
    assert not kinds(RANDOM)
    made = [sha(uid[:8])[:16] for uid in IDS]
    assert not list(derived_names(IDS, np.full(20, -1), Pseudonyms.of(made)))


def test_records_in_the_order_of_a_hash_are_found() -> None:
    ids = sorted((uid[:8] for uid in IDS), key=lambda uid: hashlib.md5(uid.encode()).digest())
    assert kinds(RANDOM, ids) == kinds(RANDOM[::-1], ids[::-1]) == ["record-order"]
