"""What servers and devices send each other: letters, records, signed requests, vouchers and answers.

More than half of a group vouches for the whole set of questions; otherwise one member could ask questions
that were never mixed. A batch has the digests of all slices and the signatures before its own slice, so that
any collector can check it alone. Answers come from the state at the end of the previous day, so that no one
can watch the count change when a neighbor sends. Several collectors with one database must agree.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic_core import to_json

from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.merkle import DIGEST_BYTES
from shoal_collect.crypto.sealing import MAX_TEXT_BYTES, OVERHEAD_BYTES
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError
from shoal_collect.matching.records import RECORD_BYTES
from shoal_collect.roles.days import NO_STATE

DAY_S: Final = 86_400
# so long after midnight all of the day before is stored, and its end can be asked about
SETTLE_S: Final = 300.0
LIFETIME_S: Final = 24 * 3600.0  # of a group and its letters, at least
LETTER_BYTES: Final = MAX_TEXT_BYTES + OVERHEAD_BYTES
BODY_BYTES: Final = LETTER_BYTES + 4  # the longest body of any request
BATCH_BYTES: Final = 2 * LETTER_BYTES  # the longest batch of letters from a mailbox
ROW_BYTES: Final = 8 + 4  # before each letter in a batch: its number and its length
LETTERS: Final = 64  # that one member may send another in a session; a sound round takes 16


def channel_name(joined: bytes, seed: bytes, identities: tuple[bytes, ...]) -> bytes:
    """The channel of a group's members.

    A member who joined on other terms (``joined``: the text that all signed), or saw another lottery, has
    another.
    """
    return hash_of(b"shoal channel", joined, seed, *identities)


def unpack(batch: bytes) -> list[tuple[int, bytes]]:
    """A mailbox's numbers and letters."""
    letters: list[tuple[int, bytes]] = []
    at = 0
    while at < len(batch):
        size = int.from_bytes(batch[at + 8 : at + ROW_BYTES])
        letter = batch[at + ROW_BYTES : at + ROW_BYTES + size]
        if len(letter) != size or not size:
            raise PeerError("bad-length", "a batch that ends in the middle of a letter")
        letters.append((int.from_bytes(batch[at : at + 8]), letter))
        at += ROW_BYTES + size
    return letters


def bundles(letters: Sequence[bytes]) -> list[bytes]:
    """Letters in as few bodies as fit, each after its length."""
    bodies = [b""]
    for letter in letters:
        if bodies[-1] and len(bodies[-1]) + 4 + len(letter) > BODY_BYTES:
            bodies.append(b"")
        bodies[-1] += len(letter).to_bytes(4) + letter
    return bodies


def unbundle(body: bytes) -> list[bytes]:
    """The letters in a body, at least one."""
    letters, at = list[bytes](), 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4])
        letters.append(body[at + 4 : at + 4 + size])
        if len(letters[-1]) != size or not size:
            break
        at += 4 + size
    if not letters or at != len(body):
        raise PeerError("bad-length", "letters whose lengths do not add up")
    return letters


def split_records(body: bytes) -> list[bytes]:
    """Records of RECORD_BYTES."""
    if not body or len(body) % RECORD_BYTES:
        raise PeerError("bad-length", f"{len(body)} bytes are not whole records of {RECORD_BYTES} bytes")
    return [body[at : at + RECORD_BYTES] for at in range(0, len(body), RECORD_BYTES)]


def snapshot_day(now_s: float) -> int:
    """The day before which releases count for a question asked now: all collectors have a complete set."""
    return int((now_s - SETTLE_S) // DAY_S)


SKEW_S: Final = 300.0  # a request signed longer ago, or in the future, is refused


@dataclass(frozen=True)
class Call:
    """One request, as in HTTP.

    ``to``: "collector", "authority", or "witness 1" and so on. ``poll``: only asks for news.
    """

    method: Literal["GET", "POST"]
    target: str
    body: bytes = b""
    to: str = "collector"
    poll: bool = False


@dataclass(frozen=True)
class Reply:
    """HTTP status, and body with a checked signature where required."""

    status: int
    body: bytes

    @property
    def refusal(self) -> tuple[str, str] | None:
        """Name and message of an error, if any."""
        if self.status < 400:
            return None
        try:
            document = json.loads(self.body)
            return str(document["error"]), str(document["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return "unavailable", f"status {self.status}"


def authorization(
    signing_seed: bytes, identity: bytes, audience: bytes, method: str, target: str, body: bytes, now_s: float
) -> str:
    """The header that signs a request for one server, ``audience``."""
    moment = f"{now_s:.3f}"
    signed = signature(
        signing_seed, b"request", _request(audience, method, target, moment, body_digest(body))
    )
    return f"Shoal {identity.hex()} {moment} {base64.b64encode(signed).decode()}"


def read_authorization(
    header: str | None, audience: bytes, method: str, target: str, digest: bytes, now_s: float
) -> bytes:
    """The sender's identity key, from the head and the body's digest.

    PeerError unless signed for this server within SKEW_S.
    """
    try:
        scheme, who, moment, signed = (header or "").split(" ")
        identity, at_s, proof = bytes.fromhex(who), float(moment), base64.b64decode(signed, validate=True)
        if scheme != "Shoal" or len(identity) != 32:
            raise ValueError(scheme)
    except (ValueError, binascii.Error) as error:
        raise PeerError(
            "bad-signature", "a request without the header 'Authorization: Shoal IDENTITY TIME SIGNATURE'"
        ) from error
    require_signature(identity, b"request", _request(audience, method, target, moment, digest), proof)
    if not abs(now_s - at_s) <= SKEW_S:
        raise PeerError(
            "clock-skew",
            f"a request signed {at_s - now_s:+.0f} s from the server's time; set the clock that is wrong",
        )
    return identity


def body_digest(body: bytes) -> bytes:
    """The signed digest; the header Shoal-Digest sends it first."""
    return hash_of(b"", body)


def answer_digest(answer: bytes) -> str:
    """By which a waiting client recognizes an answer: 32 hexadecimal digits."""
    return hash_of(b"", answer, size=16).hex()


def _request(audience: bytes, method: str, target: str, moment: str, digest: bytes) -> bytes:
    return audience + digest + f"{method} {target} {moment}".encode()


def head_digest(method: str, target: str, who: str, length: str, body: str) -> bytes:
    """What a reply signs: the head of its request, as the server read it.

    So a reply to another or changed request cannot be passed off as the reply to this one. ``who``,
    ``length``, ``body``: the headers Authorization, Content-Length ("0" without a body) and Shoal-Digest,
    or empty.
    """
    return hash_of(b"", json.dumps([method, target, who, length, body]).encode())


def sign_reply(signing_seed: bytes, head: bytes, body: bytes) -> str:
    """The header that signs a reply to this request."""
    return signature(signing_seed, b"reply", head + body).hex()


def require_reply_signature(server_key: bytes, head: bytes, body: bytes, header: str | None) -> None:
    """Raise PeerError unless the server signed this reply to this request."""
    try:
        signed = bytes.fromhex(header or "")
    except ValueError as error:
        raise PeerError("bad-signature", "a reply whose signature is not hexadecimal") from error
    require_signature(server_key, b"reply", head + body, signed)


def write_json(content: Any) -> bytes:
    """Dataclasses as objects, bytes as hexadecimal digits."""
    return to_json(content, bytes_mode="hex")


def read_json(body: bytes) -> Any:
    """A body as JSON; PeerError otherwise."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PeerError("bad-frame", "a body that is not JSON") from error


_SLICE_BYTES: Final = 32  # of a slice's digest
_ROW_BYTES: Final = 1 + SIGNATURE_BYTES  # a member's place, and what she signed


@dataclass(frozen=True)
class Batch:
    """One slice, and vouchers for the set.

    ``slices``: each member's digest. ``vouchers``: signatures over ``slices``, by place.
    """

    questions: bytes
    slices: tuple[bytes, ...]
    vouchers: Mapping[int, bytes]

    @property
    def records(self) -> list[bytes]:
        """PeerError unless all records are whole."""
        return split_records(self.questions)

    def encode(self) -> bytes:
        """The number of vouchers, the vouchers by place, the digests, the questions."""
        rows = b"".join(bytes((place,)) + signed for place, signed in sorted(self.vouchers.items()))
        return bytes((len(self.vouchers),)) + rows + b"".join(self.slices) + self.questions


def enough_vouchers(n_members: int) -> int:
    """The smallest majority."""
    return n_members // 2 + 1


def longest_vouching(n_members: int) -> int:
    """Most bytes before the questions of a batch."""
    return 1 + n_members * (_ROW_BYTES + _SLICE_BYTES)


def vouch(signing_seed: bytes, session: bytes, slices: Sequence[bytes]) -> bytes:
    """Sign the digests of a group's slices."""
    return signature(signing_seed, b"questions", session + b"".join(slices))


def require_voucher(identity: bytes, session: bytes, slices: Sequence[bytes], signed: bytes) -> None:
    """Raise PeerError unless this member signed these slices for this session."""
    require_signature(identity, b"questions", session + b"".join(slices), signed)


def read_batch(session: bytes, members: Sequence[bytes], body: bytes) -> Batch:
    """A batch for the channel ``session``.

    PeerError if a voucher is forged, doubled, from an outsider or for another session, if at most half of
    the group vouches, or if the slice is not in the set.
    """
    at, vouchers, last = 1, dict[int, bytes](), -1
    for _ in range(body[0] if body else 0):
        row = body[at : at + _ROW_BYTES]
        if len(row) != _ROW_BYTES:
            break
        place, at = row[0], at + _ROW_BYTES
        if place >= len(members):
            raise PeerError("unknown-member", "a voucher of a person outside this group")
        if place <= last:
            raise PeerError("duplicate", "a member's voucher twice, or vouchers out of order")
        last, vouchers[place] = place, row[1:]
    end = at + len(members) * _SLICE_BYTES
    if not body or len(vouchers) != body[0] or len(body) <= end:
        raise PeerError("bad-length", f"a batch of {len(body)} bytes that ends before its questions")
    slices = tuple(body[start : start + _SLICE_BYTES] for start in range(at, end, _SLICE_BYTES))
    batch = Batch(body[end:], slices, vouchers)
    for place, signed in vouchers.items():
        require_voucher(members[place], session, slices, signed)
    if len(vouchers) < enough_vouchers(len(members)):
        raise PeerError(
            "not-entitled",
            f"questions that {len(vouchers)} of {len(members)} members vouch for; more than half must",
        )
    if body_digest(batch.questions) not in slices:
        raise PeerError("not-entitled", "questions that are not among those the group vouched for")
    return batch


_BODY_BYTES: Final = 32 + 2 + 4 + DIGEST_BYTES  # the record's digest, people, day, state
_WITHHELD: Final = 0xFFFF  # instead of people: the question was not answered, which is not "nobody"
ANSWER_BYTES: Final = _BODY_BYTES + SIGNATURE_BYTES


@dataclass(frozen=True)
class Answer:
    """People (at most CAP) before the day ``snapshot``; ``state``: a digest of all days before.

    ``people``: None where the collector did not answer.
    """

    people: int | None
    snapshot: int
    state: bytes = NO_STATE


def sign_answer(
    signing_seed: bytes, record: bytes, people: int | None, today: int, state: bytes = NO_STATE
) -> bytes:
    """Sign an answer over the state before a day; None says that there is none."""
    digest = body_digest(record)
    body = digest + (_WITHHELD if people is None else people).to_bytes(2) + today.to_bytes(4) + state
    return body + signature(signing_seed, b"answer", body)


def read_answer(collector_key: bytes, record: bytes, answer: bytes) -> Answer:
    """A collector's answer to this record; PeerError unless it signed that."""
    if len(answer) != ANSWER_BYTES:
        raise PeerError("bad-length", f"an answer of {len(answer)} bytes instead of {ANSWER_BYTES}")
    body, signed = answer[:_BODY_BYTES], answer[_BODY_BYTES:]
    require_signature(collector_key, b"answer", body, signed)
    if body[:32] != body_digest(record):
        raise PeerError("bad-answer", "an answer to another question")
    people = int.from_bytes(body[32:34])
    return Answer(None if people == _WITHHELD else people, int.from_bytes(body[34:38]), body[38:])


def count_withheld(answers: bytes) -> int:
    """Of a batch's signed answers."""
    return sum(
        int.from_bytes(answers[at + 32 : at + 34]) == _WITHHELD for at in range(0, len(answers), ANSWER_BYTES)
    )
