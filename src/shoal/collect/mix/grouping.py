"""Random groups that nobody chose (user-centric.txt, Sec. 3.3.1).

The roster is frozen, then commit, then reveal, then shuffle.

Everybody commits before anybody reveals, so that neither the server nor the last to speak can pick the
outcome.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shoal.collect.crypto.chance import SEED_BYTES, Chance
from shoal.collect.faults import PeerError
from shoal.errors import MisuseError

SMALLEST, LARGEST = 3, 16
MOST_RESTARTS: Final = 2


def commitment(roster: bytes, identity: bytes, secret: bytes) -> bytes:
    """What a member says before anybody reveals; bound to the roster and to herself."""
    return hashlib.blake2b(roster + identity + secret, digest_size=32, person=b"shoal lot").digest()


def roster_digest(round_name: bytes, identities: Sequence[bytes]) -> bytes:
    """The frozen roster: a round's name and everybody in it."""
    state = hashlib.blake2b(len(round_name).to_bytes(4) + round_name, digest_size=32, person=b"shoal roster")
    for identity in sorted(identities):
        state.update(len(identity).to_bytes(4) + identity)
    return state.digest()


def divide(
    seed: bytes, identities: Sequence[bytes], size: int
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...]]:
    """Groups of ``size`` or ``size`` + 1 from a fair shuffle, and those who wait for the next round."""
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
    """One round of commit and reveal over a frozen roster.

    A member without reveal is left out, and the rest start again.
    """

    round_name: bytes
    identities: tuple[bytes, ...]
    restarts: int = 0
    commits: dict[bytes, bytes] = field(default_factory=dict)
    reveals: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def roster(self) -> bytes:
        """What commitments are bound to; it changes with every restart."""
        return roster_digest(self.round_name + bytes((self.restarts,)), self.identities)

    def commit(self, identity: bytes, digest: bytes) -> None:
        """Take one commitment; raises PeerError."""
        self._known(identity)
        if identity in self.commits:
            raise PeerError("duplicate", "a second commitment")
        if len(digest) != 32:
            raise PeerError("bad-length", "a commitment must have 32 bytes")
        self.commits[identity] = digest

    def reveal(self, identity: bytes, secret: bytes) -> None:
        """Take one secret, once all have committed; raises PeerError."""
        self._known(identity)
        if len(self.commits) < len(self.identities):
            raise PeerError("bad-frame", "a reveal before everybody has committed")
        if identity in self.reveals:
            raise PeerError("duplicate", "a second reveal")
        if len(secret) != SEED_BYTES or commitment(self.roster, identity, secret) != self.commits[identity]:
            raise PeerError("bad-commitment", "a reveal that is not what its member committed to")
        self.reveals[identity] = secret

    @property
    def seed(self) -> bytes | None:
        """The shared seed, once everybody has revealed."""
        return shared_seed(self.roster, self.reveals) if len(self.reveals) == len(self.identities) else None

    def without_silent(self) -> "Lottery":
        """The next attempt, without those who did not commit or reveal in time.

        Raises PeerError after the second restart.
        """
        if self.restarts >= MOST_RESTARTS:
            raise PeerError("too-late", "the lots were started again twice already; this round is over")
        heard = self.reveals if len(self.commits) == len(self.identities) else self.commits
        return Lottery(
            self.round_name, tuple(one for one in self.identities if one in heard), self.restarts + 1
        )

    def _known(self, identity: bytes) -> None:
        if identity not in self.identities:
            raise PeerError("unknown-member", "someone who is not on the frozen roster")


def shared_seed(roster: bytes, reveals: Mapping[bytes, bytes]) -> bytes:
    """The seed that everybody computes for herself."""
    state = hashlib.blake2b(roster, digest_size=32, person=b"shoal seed")
    for identity in sorted(reveals):
        state.update(reveals[identity])
    return state.digest()
