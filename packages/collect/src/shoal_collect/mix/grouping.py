"""Random groups that no one can choose (Romero-Tris and Megías 2018, Sec. 3.3.1).

All commit before anyone reveals, so neither the server nor the last to reveal can pick the outcome.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import SEED_BYTES, Chance
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError

SMALLEST, LARGEST = 3, 25
MOST_RESTARTS: Final = 2
LOT_BYTES: Final = 32
SIGNED_LOT_BYTES: Final = LOT_BYTES + SIGNATURE_BYTES


def commitment(roster: bytes, identity: bytes, secret: bytes) -> bytes:
    """Bound to the roster and the member."""
    return hashlib.blake2b(roster + identity + secret, digest_size=32, person=b"shoal lot").digest()


def sign_lot(signing_seed: bytes, part: bytes, roster: bytes, lot: bytes) -> bytes:
    """Sign a commitment ("commit") or a secret ("reveal") over the roster."""
    return lot + signature(signing_seed, part, roster + lot)


def read_lot(identity: bytes, part: bytes, roster: bytes, message: bytes) -> bytes:
    """A member's commitment or secret; PeerError unless over this roster."""
    if len(message) != SIGNED_LOT_BYTES:
        raise PeerError("bad-length", f"a lot of {len(message)} bytes instead of {SIGNED_LOT_BYTES}")
    require_signature(identity, part, roster + message[:LOT_BYTES], message[LOT_BYTES:])
    return message[:LOT_BYTES]


def roster_digest(round_name: bytes, identities: Sequence[bytes]) -> bytes:
    """The round's name and all identities."""
    state = hashlib.blake2b(len(round_name).to_bytes(4) + round_name, digest_size=32, person=b"shoal roster")
    for identity in sorted(identities):
        state.update(len(identity).to_bytes(4) + identity)
    return state.digest()


def divide(
    seed: bytes, identities: Sequence[bytes], size: int
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...]]:
    """Groups of ``size`` or ``size`` + 1 by a fair shuffle, and who waits.

    Size within SMALLEST..LARGEST - 1.
    """
    if not SMALLEST <= size < LARGEST:
        raise MisuseError(f"groups of {size}; choose {SMALLEST} to {LARGEST - 1}")
    ordered = sorted(identities)
    shuffled = [ordered[place] for place in Chance(seed).permutation(len(ordered))]
    n_groups = len(shuffled) // size
    larger = min(len(shuffled) - n_groups * size, n_groups)
    ends = [size * (i + 1) + min(i + 1, larger) for i in range(n_groups)]
    groups = [tuple(shuffled[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return groups, tuple(shuffled[ends[-1] if ends else 0 :])


@dataclass
class Lottery:
    """One attempt over a frozen, sorted roster."""

    round_name: bytes
    identities: tuple[bytes, ...]
    restarts: int = 0
    commits: dict[bytes, bytes] = field(default_factory=dict)
    reveals: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def roster(self) -> bytes:
        """What commitments are bound to; each restart changes it."""
        return roster_digest(self.round_name + bytes((self.restarts,)), self.identities)

    def commit(self, identity: bytes, digest: bytes) -> None:
        """Record one commitment; PeerError for a second one."""
        self._require_known(identity)
        if identity in self.commits:
            raise PeerError("duplicate", "a second commitment")
        if len(digest) != 32:
            raise PeerError("bad-length", "a commitment must have 32 bytes")
        self.commits[identity] = digest

    def reveal(self, identity: bytes, secret: bytes) -> None:
        """Record one secret after all commitments; PeerError unless it matches."""
        self._require_known(identity)
        if len(self.commits) < len(self.identities):
            raise PeerError("bad-frame", "a reveal before all have committed")
        if identity in self.reveals:
            raise PeerError("duplicate", "a second reveal")
        if len(secret) != SEED_BYTES or commitment(self.roster, identity, secret) != self.commits[identity]:
            raise PeerError("bad-commitment", "a reveal that differs from the member's commitment")
        self.reveals[identity] = secret

    @property
    def seed(self) -> bytes | None:
        """None until all have revealed."""
        return shared_seed(self.roster, self.reveals) if len(self.reveals) == len(self.identities) else None

    def without_silent(self) -> "Lottery":
        """The next attempt; PeerError after the second."""
        if self.restarts >= MOST_RESTARTS:
            raise PeerError("too-late", "the lottery has started again twice already; this round is over")
        heard = self.reveals if len(self.commits) == len(self.identities) else self.commits
        return Lottery(
            self.round_name,
            tuple(identity for identity in self.identities if identity in heard),
            self.restarts + 1,
        )

    def _require_known(self, identity: bytes) -> None:
        if identity not in self.identities:
            raise PeerError("unknown-member", "someone who is not on the frozen roster")


def shared_seed(roster: bytes, reveals: Mapping[bytes, bytes]) -> bytes:
    """Compute the seed, as each member does."""
    state = hashlib.blake2b(roster, digest_size=32, person=b"shoal seed")
    for identity in sorted(reveals):
        state.update(reveals[identity])
    return state.digest()
