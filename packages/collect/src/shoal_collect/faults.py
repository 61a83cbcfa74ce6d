"""Faults of a peer by name, with HTTP status.

A peer's bad input is a ``PeerError``; misuse of our code a ``shoal.errors.MisuseError``. Neither ends in a
traceback.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, get_args

from shoal.errors import ShoalError

Kind = Literal[
    "bad-length",  # truncated, too long, or with trailing bytes
    "body-too-long",  # a request beyond its limit, not read to the end
    "bad-frame",  # not a message of this protocol
    "bad-signature",
    "unknown-member",
    "wrong-session",  # another run, or a round that is over
    "duplicate",  # a second copy of a message that is already there
    "bad-element",  # not a member of the group, or 0, 1, p - 1
    "bad-proof",
    "bad-commitment",  # the opened value differs from the commitment
    "bad-seal",  # does not open: damaged, or for another key
    "wrong-receiver",
    "out-of-order",  # a letter before the one that comes next
    "bad-record",  # not the canonical encoding of a record
    "out-of-range",
    "too-late",
    "damaged",  # a body that was changed on the way; the same request may be sent again
    "too-slow",  # a body that did not come in time; the same request may be sent again
    "bad-answer",  # a server's answer that does not fit its question, or contradicts another server's
    "not-entitled",
    "clock-skew",
    "too-many",
    "busy",  # the server has too much to do at the moment
    "unknown-collector",  # a claim on a release of a collector unknown to the authority
]

_OTHER_STATUS: Final[Mapping[Kind, int]] = {
    "body-too-long": 413,
    "bad-length": 400,
    "bad-frame": 400,
    "damaged": 400,
    "bad-signature": 401,
    "clock-skew": 401,
    "unknown-member": 403,
    "not-entitled": 403,
    "wrong-session": 404,
    "too-slow": 408,
    "duplicate": 409,
    "too-late": 410,
    "too-many": 429,
    "busy": 503,
    "unknown-collector": 503,  # the authority's own fault: the same claim holds when it is mended
}
STATUS: Final[Mapping[Kind, int]] = {kind: _OTHER_STATUS.get(kind, 422) for kind in get_args(Kind)}
_WIRE_NAMES: Final[Mapping[Kind, str]] = {"body-too-long": "bad-length"}  # the others go by their own names


class PeerError(ShoalError):
    """Input that breaks the protocol; the message says what to do."""

    def __init__(self, kind: Kind, message: str) -> None:
        self.kind = kind
        super().__init__(f"{self.wire_name}: {message}")

    @property
    def wire_name(self) -> str:
        """In JSON replies."""
        return _WIRE_NAMES.get(self.kind, self.kind)

    @property
    def status(self) -> int:
        """Of a reply with this error."""
        return STATUS[self.kind]


@contextmanager
def refusing(kind: Kind, message: str) -> Iterator[None]:
    """Raise PeerError for words of a peer that lack an entry, or have another type of it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise PeerError(kind, message) from error


class UnavailableError(ShoalError):
    """A server or a database cannot be reached now."""


class UntrustedError(UnavailableError):
    """A server without a certificate that is trusted: waiting mends nothing."""
