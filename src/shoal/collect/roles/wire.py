"""What both sides of the service agree on.

Signed requests and replies, the terms of a round, names of errors and their status.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shoal.collect.crypto.group import FFDHE3072
from shoal.collect.crypto.sealing import MAX_TEXT_BYTES, OVERHEAD_BYTES
from shoal.collect.faults import PeerError
from shoal.collect.matching.records import RECORD_BYTES
from shoal.collect.matching.similarity import Likeness
from shoal.collect.matching.subtrajectories import Prior
from shoal.collect.mix.messages import MAX_RECORDS, Session
from shoal.collect.roles.authority import check_signature, signature
from shoal.collect.roles.collection import Rules
from shoal.errors import MisuseError

DAY_S: Final = 86_400
LAST_DAY: Final = 2_932_896  # 9999-12-31
SKEW_S: Final = 300.0  # a request signed longer ago, or in the future, is refused
SETTLE_S: Final = (
    300.0  # so long after midnight everything of the day before is stored, and its end can be asked about
)
LIFETIME_S: Final = 24 * 3600.0  # of letters, and of a round once its groups are drawn
LETTER_BYTES: Final = MAX_TEXT_BYTES + OVERHEAD_BYTES
BODY_BYTES: Final = LETTER_BYTES + 4  # the longest body of any request
MAILBAG_BYTES: Final = 2 * LETTER_BYTES
ROW_BYTES: Final = 8 + 4  # before each letter in a mailbag: its number and its length
LETTERS: Final = 64  # that one member may send another in a session; a sound round takes 15
_PROVEN_RECORD_S: Final = (
    0.4  # to check a mixer's proof and make the next, for each record: four times what was measured
)
PHASES: Final = ("joining", "committing", "revealing", "grouped", "failed", "over")

STATUS: Final[Mapping[str, int]] = {
    "bad-length": 400,
    "bad-frame": 400,
    "bad-signature": 401,
    "clock-skew": 401,
    "unknown-member": 403,
    "not-entitled": 403,
    "duplicate": 409,
    "wrong-session": 404,
    "too-late": 410,
    "too-many": 429,
}
OTHER_STATUS: Final = 422


class OtherCollector(BaseModel):
    """A witness: its address, and the key that its answers are checked with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, max_length=200)
    key: str = Field(pattern="^[0-9a-f]{64}$")


class Terms(BaseModel):
    """What all members of a round do alike, and how long a phase may take.

    Fixed when the round opens, signed by everybody who joins.

    proven_shuffle: every mixer proves her shuffle. bootstrap_until: what is released is a record of nobody,
    forgotten on this day (since 1970); None after the bootstrapping phase. witnesses: further collectors,
    whose answers have to be the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    group_size: int = Field(default=4, ge=3, le=15)
    n_real: int = Field(default=40, ge=1)
    n_fake: int = Field(default=10, ge=1)
    longest: int = Field(default=4, ge=2, le=8)
    n_pieces: int = Field(default=4, ge=1, le=33)
    theta_m: float = Field(default=1_000.0, ge=0, lt=1e7, allow_inf_nan=False)
    theta_min: float = Field(default=60.0, ge=0, lt=1e7, allow_inf_nan=False)
    period_days: int = Field(default=365, ge=365, le=36_500)  # fresh circles more often would average out
    phase_limit_s: float = Field(default=120.0, gt=0, le=3600, allow_inf_nan=False)
    proven_shuffle: bool = False
    bootstrap_until: int | None = Field(default=None, ge=0, le=LAST_DAY)
    witnesses: tuple[OtherCollector, ...] = Field(default=(), max_length=4)

    @model_validator(mode="after")
    def _fits(self) -> "Terms":
        if len({one.key for one in self.witnesses}) < len(self.witnesses):
            raise ValueError("two witnesses with one key")
        if self.n_real + self.n_fake > MAX_RECORDS:
            raise ValueError(
                f"{self.n_real} real and {self.n_fake} fake sub-trajectories; at most {MAX_RECORDS} together"
            )
        if self._largest.frame_limit() >= MAX_TEXT_BYTES:
            longest_mib = self._largest.frame_limit() >> 20
            raise ValueError(
                f"messages of {longest_mib} MiB; make groups smaller or ask for fewer sub-trajectories"
            )
        hop_s = _PROVEN_RECORD_S * self._largest.n * self._largest.n_records
        if self.proven_shuffle and self.phase_limit_s < hop_s:
            raise ValueError(
                f"proofs of shuffles need about {hop_s:.0f} s a hop; allow a phase that long, or ask for "
                "fewer sub-trajectories"
            )
        return self

    @property
    def _largest(self) -> Session:
        """A mix run of as many members and records as these terms can lead to."""
        members, each = (
            tuple(bytes((i,)) for i in range(self.group_size + 1)),
            max(self.n_real + self.n_fake, self.n_pieces),
        )
        return Session(bytes(32), members, each, RECORD_BYTES, FFDHE3072, self.proven_shuffle)

    @property
    def letter_bytes(self) -> int:
        """No sound letter is longer: a message of a mix run under its stage's byte, sealed."""
        return self._largest.frame_limit() + 1 + OVERHEAD_BYTES

    def joined_by(self, round_name: bytes) -> bytes:
        """What a member signs to join a round on these terms.

        Whoever was shown other terms has signed something else.
        """
        return (
            round_name
            + hashlib.blake2b(self.model_dump_json().encode(), digest_size=32, person=b"shoal terms").digest()
        )

    @property
    def rules(self) -> Rules:
        """The same for the core."""
        likeness = Likeness(theta_m=self.theta_m, theta_min=self.theta_min)
        sizes = self.model_dump(
            include={"group_size", "n_real", "n_fake", "longest", "n_pieces", "period_days", "proven_shuffle"}
        )
        return Rules(**sizes, likeness=likeness)


_Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
_Longitude = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
_Weight = Annotated[int, Field(ge=0, le=10**12)]


class PublicPlaces(BaseModel):
    """A public mobility prior: places with weights, and the span of time in which fakes lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lat_deg: tuple[_Latitude, ...] = Field(min_length=1, max_length=10_000)
    lon_deg: tuple[_Longitude, ...] = Field(max_length=10_000)
    weights: tuple[_Weight, ...] = Field(max_length=10_000)
    first_min: int
    last_min: int

    @model_validator(mode="after")
    def _is_a_prior(self) -> "PublicPlaces":
        try:
            self.prior  # noqa: B018  (raises for places that are none)
        except MisuseError as error:
            raise ValueError(str(error)) from error
        return self

    def until(self, now_s: float) -> "PublicPlaces":
        """With a span of the same length that ends now.

        Fakes that end where a server was started are older than all real trips.
        """
        last_min = max(int(now_s // 60), self.last_min - self.first_min)
        return self.model_copy(
            update={"first_min": last_min - (self.last_min - self.first_min), "last_min": last_min}
        )

    @property
    def prior(self) -> Prior:
        """The same for the core."""
        return Prior(self.lat_deg, self.lon_deg, self.weights, self.first_min, self.last_min)


def authorization(
    signing_seed: bytes, identity: bytes, audience: bytes, method: str, target: str, body: bytes, now_s: float
) -> str:
    """The header that signs a request for one server at one time."""
    moment = f"{now_s:.3f}"
    signed = signature(signing_seed, b"request", _request(audience, method, target, moment, body))
    return f"Shoal {identity.hex()} {moment} {base64.b64encode(signed).decode()}"


def check_authorization(
    header: str | None, audience: bytes, method: str, target: str, body: bytes, now_s: float
) -> bytes:
    """Whose request this is; raises PeerError when it is nobody's, or its time is not now."""
    try:
        scheme, who, moment, signed = (header or "").split(" ")
        identity, at_s, proof = bytes.fromhex(who), float(moment), base64.b64decode(signed, validate=True)
        if scheme != "Shoal" or len(identity) != 32:
            raise ValueError(scheme)
    except (ValueError, binascii.Error) as error:
        raise PeerError(
            "bad-signature", "a request without the header 'Authorization: Shoal IDENTITY TIME SIGNATURE'"
        ) from error
    check_signature(identity, b"request", _request(audience, method, target, moment, body), proof)
    if not abs(now_s - at_s) <= SKEW_S:
        raise PeerError(
            "clock-skew",
            f"a request signed {at_s - now_s:+.0f} s from the server's time; set the device's clock",
        )
    return identity


def _request(audience: bytes, method: str, target: str, moment: str, body: bytes) -> bytes:
    return audience + hashlib.blake2b(body, digest_size=32).digest() + f"{method} {target} {moment}".encode()


def sign_reply(signing_seed: bytes, target: str, body: bytes) -> str:
    """The header that signs a reply."""
    return signature(signing_seed, b"reply", _reply(target, body)).hex()


def check_reply(server_key: bytes, target: str, body: bytes, header: str | None) -> None:
    """Raises PeerError unless the server signed this reply to this request."""
    try:
        signed = bytes.fromhex(header or "")
    except ValueError as error:
        raise PeerError("bad-signature", "a reply whose signature is none") from error
    check_signature(server_key, b"reply", _reply(target, body), signed)


def _reply(target: str, body: bytes) -> bytes:
    return hashlib.blake2b(target.encode(), digest_size=32).digest() + body


def read_json(body: bytes) -> Any:
    """What a body says; raises PeerError when it is no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PeerError("bad-frame", "a body that is no JSON") from error


def read_terms(entries: Any) -> Terms:
    """Raises PeerError for terms that no honest collector sets."""
    try:
        return Terms.model_validate(entries)
    except ValidationError as error:
        raise PeerError("out-of-range", f"terms that cannot be kept: {error.errors()[0]['msg']}") from error


def channel_name(round_name: bytes, seed: bytes, identities: tuple[bytes, ...]) -> bytes:
    """The name under which a group's members write to each other.

    Who was shown other lots has another one.
    """
    return hashlib.blake2b(
        round_name + seed + b"".join(identities), digest_size=32, person=b"shoal channel"
    ).digest()


def unpack(mailbag: bytes) -> list[tuple[int, bytes]]:
    """Numbers and letters of what a mailbox gave; raises PeerError."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(mailbag):
        size = int.from_bytes(mailbag[at + 8 : at + ROW_BYTES])
        letter = mailbag[at + ROW_BYTES : at + ROW_BYTES + size]
        if len(letter) != size or not size:
            raise PeerError("bad-length", "a mailbag that ends in the middle of a letter")
        found.append((int.from_bytes(mailbag[at : at + 8]), letter))
        at += ROW_BYTES + size
    return found


def bundles(letters: Sequence[bytes]) -> list[bytes]:
    """Bodies of requests that bring these letters in order, each letter with its length before it.

    One body unless they are long.
    """
    bodies = [b""]
    for letter in letters:
        if bodies[-1] and len(bodies[-1]) + 4 + len(letter) > BODY_BYTES:
            bodies.append(b"")
        bodies[-1] += len(letter).to_bytes(4) + letter
    return bodies


def unbundle(body: bytes) -> list[bytes]:
    """The letters in a body, at least one; raises PeerError."""
    found, at = list[bytes](), 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4])
        found.append(body[at + 4 : at + 4 + size])
        if len(found[-1]) != size or not size:
            break
        at += 4 + size
    if not found or at != len(body):
        raise PeerError("bad-length", "letters that do not have the length before them")
    return found


def split_records(body: bytes) -> list[bytes]:
    """Records of RECORD_BYTES one after the other; raises PeerError."""
    if not body or len(body) % RECORD_BYTES:
        raise PeerError("bad-length", f"{len(body)} bytes hold no whole number of records of {RECORD_BYTES}")
    return [body[at : at + RECORD_BYTES] for at in range(0, len(body), RECORD_BYTES)]


def batch_digest(questions: bytes) -> bytes:
    """What a batch of questions is known by."""
    return hashlib.blake2b(questions, digest_size=16).digest()


def snapshot_day(now_s: float) -> int:
    """The day before which everything is counted that is asked now.

    A day's releases are complete by then, whoever counts.
    """
    return int((now_s - SETTLE_S) // DAY_S)


@dataclass(frozen=True)
class Call:
    """One request, to "collector", "authority", or "witness 1" and so on.

    A poll asks whether there is something new.
    """

    method: Literal["GET", "POST"]
    target: str
    body: bytes = b""
    to: str = "collector"
    poll: bool = False


@dataclass(frozen=True)
class Reply:
    """status: of HTTP. body: as it came; the server's signature has been checked where one is due."""

    status: int
    body: bytes

    @property
    def refusal(self) -> tuple[str, str] | None:
        """Name and message of an error."""
        if self.status < 400:
            return None
        try:
            said = json.loads(self.body)
            return str(said["error"]), str(said["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return "unavailable", f"status {self.status}"
