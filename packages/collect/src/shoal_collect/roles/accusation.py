"""A proof of blame: all that an outsider needs to judge a member's fault.

The culprit signed the round and its terms on joining; these, the lottery's seed and the members determine
the name of each mix run, for which all messages are signed. So no message can be moved to another run or
judged by other terms.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature
from shoal_collect.faults import PeerError
from shoal_collect.matching.records import RECORD_BYTES
from shoal_collect.mix.proof import find_proven_culprits
from shoal_collect.mix.session import LARGEST, SMALLEST, Session
from shoal_collect.roles.admission import (
    KEY_STATEMENT_BYTES,
    TOKEN_BYTES,
    Purpose,
    purpose_of,
    read_stated_key,
    require_token,
    split_roster,
)
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import channel_name

_MAGIC: Final = b"shoal blame1"
_KEY_BYTES: Final = 32
QUESTIONS_TAG, RELEASES_TAG = 0, 3  # of the letters in each of the two mix runs


def mix_run(channel: bytes, identities: tuple[bytes, ...], terms: Terms, tag: int) -> Session:
    """A group's mix run for its questions or its releases."""
    name = hashlib.blake2b(channel + bytes((tag,)), digest_size=32, person=b"shoal mix").digest()
    rules = terms.rules
    n_records = terms.n_questions if tag == QUESTIONS_TAG else terms.n_pieces
    return Session(name, identities, n_records, RECORD_BYTES, rules.group, rules.proven_shuffle)


@dataclass(frozen=True)
class Accusation:
    """A member of a group (``culprit``, by place), and the messages that prove a fault.

    ``seed``: of the round's lottery. ``tag``: which mix run. ``entry``: the culprit's signature of the
    terms, and token. ``token_key``: the registrar's statement of its key.
    """

    collector_key: bytes
    round_name: bytes
    seed: bytes
    terms: bytes
    tag: int
    identities: tuple[bytes, ...]
    culprit: int
    entry: bytes
    token_key: bytes
    frames: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Each part of variable length follows its length."""
        head = bytes((self.tag, len(self.identities), self.culprit)) + b"".join(self.identities)
        fixed = _MAGIC + self.collector_key + self.round_name + self.seed + head + self.entry + self.token_key
        return fixed + b"".join(len(part).to_bytes(4) + part for part in (self.terms, *self.frames))


def read_accusation(body: bytes) -> Accusation:
    """Read an accusation; raise PeerError for other parts."""
    at = len(_MAGIC)

    def take(n: int) -> bytes:
        nonlocal at
        part, at = body[at : at + n], at + n
        if len(part) != n:
            raise PeerError("bad-length", "an accusation that is cut")
        return part

    if body[:at] != _MAGIC:
        raise PeerError("bad-frame", "bytes that are not an accusation")
    collector_key, round_name, seed = take(_KEY_BYTES), take(32), take(32)
    tag, n, culprit = take(3)
    if tag not in (QUESTIONS_TAG, RELEASES_TAG) or not SMALLEST <= n <= LARGEST or culprit >= n:
        raise PeerError("out-of-range", "an accusation of a mix run, or of a member, that cannot be")
    identities = tuple(take(_KEY_BYTES) for _ in range(n))
    entry, token_key = take(SIGNATURE_BYTES + TOKEN_BYTES), take(KEY_STATEMENT_BYTES)
    parts: list[bytes] = []
    while at < len(body) or not parts:
        parts.append(take(int.from_bytes(take(4))))
    return Accusation(
        collector_key,
        round_name,
        seed,
        parts[0],
        tag,
        identities,
        culprit,
        entry,
        token_key,
        tuple(parts[1:]),
    )


def require_proof(accusation: Accusation, registrar_key: bytes) -> Purpose:
    """The purpose of the culprit's token; PeerError unless the fault is proven."""
    culprit = accusation.identities[accusation.culprit]
    try:
        terms = Terms.model_validate_json(accusation.terms)
    except ValidationError as error:
        raise PeerError("bad-record", "an accusation with terms that cannot be") from error
    if terms.registrar is None or bytes.fromhex(terms.registrar.key) != registrar_key:
        raise PeerError("not-entitled", "an accusation in a round of another registrar, or of none")
    if len(set(accusation.identities)) < len(accusation.identities):
        raise PeerError("out-of-range", "an accusation in a group with the same member twice")
    signed, token = split_roster(accusation.entry, admitted=True)
    require_signature(culprit, b"join", terms.join_text(accusation.round_name), signed)
    purpose = purpose_of(accusation.collector_key, terms.registrar)
    require_token(read_stated_key(registrar_key, purpose, accusation.token_key), culprit, token)
    channel = channel_name(terms.join_text(accusation.round_name), accusation.seed, accusation.identities)
    if accusation.culprit not in find_proven_culprits(
        mix_run(channel, accusation.identities, terms, accusation.tag), accusation.frames
    ):
        raise PeerError("bad-proof", "messages that prove no fault of the member whom they accuse")
    return purpose
