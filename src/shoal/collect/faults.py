"""What a peer did wrong, by name.

A peer's bad input is never our own misuse, and never ends in a traceback.
"""

from typing import Literal

from shoal.errors import ShoalError

Kind = Literal[
    "bad-length",  # truncated, oversized, or trailing bytes
    "bad-frame",  # not a message of this protocol
    "bad-signature",
    "unknown-member",
    "wrong-session",  # another run, or a stale round
    "duplicate",  # a second copy of a message that is already there
    "bad-element",  # not a member of the group, or 0, 1, p - 1
    "bad-proof",
    "bad-commitment",  # what was opened is not what was committed to
    "bad-seal",  # does not open: damaged, or for another key
    "wrong-receiver",
    "out-of-order",  # a letter before the one that comes next
    "bad-record",  # not the canonical encoding of a record
    "out-of-range",
    "too-late",
    "bad-answer",  # a server's answer that does not fit its question, or contradicts another server's
    "not-entitled",
    "clock-skew",
    "too-many",
]


class PeerError(ShoalError):
    """A message from outside that breaks the protocol; ``kind`` is one of Kind."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
