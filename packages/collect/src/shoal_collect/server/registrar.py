"""The registrar: it admits persons, and blindly signs one key of each per collector and period.

It knows who asked for a token, but not the token's key: it learns nothing of a round, even together with
the collector.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from fastapi import FastAPI, Request

from shoal_collect.crypto.blind_signatures import MODULUS_BYTES, SignKey, blind_sign, draw_key, prove_key
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import MOST_AREAS, TOKEN_KEY, Purpose, period_at
from shoal_collect.roles.wire import SKEW_S, body_digest
from shoal_collect.server.http import Server, read_name, read_number
from shoal_collect.storage.database import Database, may_delete


class RegisterBook:
    """A register in a database, with the steps AUTHORITY."""

    def __init__(self, database: Database) -> None:
        self.database = self._db = database

    def invite(self, digests: Iterable[bytes]) -> None:
        """Add invitations, by digest."""
        with self._db.transaction():
            for digest in digests:
                self._db.change("INSERT INTO invitation (digest) VALUES (?)", (digest,))

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; whether this person has used it now or before."""
        with self._db.transaction():
            row = self._db.row("SELECT account FROM invitation WHERE digest = ?", (code,))
            if row is None or (row[0] is not None and bytes(row[0]) != person):
                return False
            if row[0] is None and not self.knows(person):  # who is admitted already uses up no invitation
                self._db.change("UPDATE invitation SET account = ? WHERE digest = ?", (person, code))
                self._db.change("INSERT INTO person VALUES (?)", (person,))
            return True

    def knows(self, person: bytes) -> bool:
        """Whether a person is admitted."""
        return self._db.row("SELECT 1 FROM person WHERE account = ?", (person,)) is not None

    def issue(self, purpose: Purpose, person: bytes, digest: bytes, now_s: float) -> bool:
        """Record a person's one request; False if another was recorded."""
        with self._db.transaction():
            if may_delete(self._db, now_s):
                self._db.change("DELETE FROM issued WHERE over_day < ?", (purpose.first_day,))
            self._db.change(
                "INSERT INTO issued (purpose, account, digest, over_day) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (purpose.text, person, digest, purpose.first_day + purpose.days),
            )
            asked = "SELECT digest FROM issued WHERE purpose = ? AND account = ?"
            return bytes(self._db.rows(asked, (purpose.text, person))[0][0]) == digest

    def counts(self) -> dict[str, float]:
        """Persons, open invitations, and tokens."""
        (persons,), (open_invitations,), (tokens,) = (
            self._db.rows(f"SELECT COUNT(*) FROM {what}")[0]  # noqa: S608  (tables of ours)
            for what in ("person", "invitation WHERE account IS NULL", "issued")
        )
        return {"persons": persons, "open_invitations": open_invitations, "tokens_issued": tokens}


CODE_BYTES: Final = 16
_KEPT_KEYS: Final = 256
_MOST_DRAWN: Final = 2 * MOST_AREAS  # for one person and collector; each takes half a second
_AREA: Final = re.compile(r"[1-9][0-9]{0,3}(-[0-9]{1,5}){2}")
_LEAST_DAYS, _MOST_DAYS = 365, 36_500  # of a contributor's period, as in the terms of rounds
_SECOND_ROUND: Final = "this account has its token of this period already, for another key"
_SECOND_KEY: Final = (
    "this person has her contributor's credential of this area and period already, on another device; import "
    "the state of that one, or come back after the period"
)


class Registrar:
    """Admits persons and issues tokens.

    ``seed``: 32 secret bytes, the source of all keys. ``days``: a person gets one token in each period.
    ``signing_seed``: if it runs inside another server.
    """

    def __init__(
        self,
        register: RegisterBook,
        seed: bytes,
        collector_keys: frozenset[bytes],
        days: int,
        signing_seed: bytes | None = None,
    ) -> None:
        self._register, self._seed, self.collector_keys, self.days = register, seed, collector_keys, days
        self.signing_seed = signing_seed or signing_seed_of(seed)
        self._keys: dict[Purpose, tuple[SignKey, bytes]] = {}
        self._drawn = Counter[tuple[bytes, bytes]]()  # keys of areas, by person and collector

    @property
    def public_key(self) -> bytes:
        """The lasting key, in collectors' terms."""
        return verify_key(self.signing_seed)

    def admit(self, person: bytes, code: str) -> None:
        """Admit an account key with an invitation; a repetition has no effect."""
        if not self._register.admit(code_digest(code), person):
            raise PeerError("not-entitled", "an invitation that does not exist, or that has been used")

    def key_of(self, purpose: Purpose, person: bytes, now_s: float) -> bytes:
        """The signed key of a purpose, with the proof that blinding hides the message.

        PeerError for a period without tokens; an area's key is for admitted persons alone.
        """
        self._require_open(purpose, now_s)
        if purpose.area:
            self._require_admitted(person)
        return self._key(purpose, person)[1]

    def sign(self, purpose: Purpose, person: bytes, blinded: bytes, now_s: float) -> bytes:
        """Sign a blinded key, once for each account and purpose; a repetition gets the same answer.

        ``person``: the account's key. PeerError without admission, for a second key, and where ``key_of``
        refuses.
        """
        self._require_open(purpose, now_s)
        self._require_admitted(person)
        signed = blind_sign(
            self._key(purpose, person)[0], blinded
        )  # a request that cannot be signed leaves no row
        if not self._register.issue(purpose, person, body_digest(blinded), now_s):
            raise PeerError("duplicate", _SECOND_KEY if purpose.area else _SECOND_ROUND)
        return signed

    def _require_admitted(self, person: bytes) -> None:
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"this registrar has not admitted the account {person.hex()}; use an invitation",
            )

    def _require_open(self, purpose: Purpose, now_s: float) -> None:
        length_fits = (
            _LEAST_DAYS <= purpose.days <= _MOST_DAYS and _AREA.fullmatch(purpose.area)
            if purpose.area
            else purpose.days == self.days
        )
        if purpose.collector_key not in self.collector_keys or not length_fits:
            raise PeerError(
                "not-entitled", "a collector, a length of periods, or an area without tokens here"
            )
        now = {period_at(now_s - SKEW_S, self.days), period_at(now_s + SKEW_S, self.days)}
        if purpose.period not in {token * self.days // purpose.days for token in now}:
            raise PeerError("too-late", "a period that is over, or that has not begun")

    def _key(self, purpose: Purpose, person: bytes) -> tuple[SignKey, bytes]:
        """They follow from the registrar's seed."""
        if purpose not in self._keys:
            self._drawn[person, purpose.collector_key] += bool(purpose.area)
            if self._drawn[person, purpose.collector_key] > _MOST_DRAWN:
                raise PeerError("too-many", "credentials of more areas than a collection has")
            key = draw_key(Chance(hash_of(b"shoal token", purpose.text, key=self._seed)))
            modulus = key.public.to_bytes()
            signed = signature(self.signing_seed, TOKEN_KEY, purpose.text + modulus)
            while len(self._keys) >= _KEPT_KEYS:
                self._keys.pop(next(iter(self._keys)))
            self._keys[purpose] = key, modulus + signed + prove_key(key)
        return self._keys[purpose]


def signing_seed_of(seed: bytes) -> bytes:
    """Of 32 secret bytes."""
    return hash_of(b"shoal registrar", seed)


def code_digest(code: str) -> bytes:
    """An invitation's digest: the database contains no usable ones."""
    try:
        secret = bytes.fromhex(code.replace("-", "").strip())
    except ValueError:
        secret = b""
    if len(secret) != CODE_BYTES:
        raise PeerError("out-of-range", "an invitation is 32 hexadecimal digits, with or without hyphens")
    return hash_of(b"shoal invite", secret)


def write_code(secret: bytes) -> str:
    """An invitation in groups of four digits."""
    text = secret.hex()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def registrar_application(
    registrar: Registrar,
    book: RegisterBook,
    *,
    quiet: bool = False,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Serve the registrar."""
    server = Server("shoal registrar", registrar.signing_seed, book.database, clock, book.counts, quiet=quiet)
    add_registrar(server, registrar)
    return server.app


def add_registrar(server: Server, registrar: Registrar) -> None:
    """Add a registrar to its server, or the authority's, which signs with the same key."""

    def about(_: Request) -> Any:
        return {
            "registrar_key": server.key.hex(),
            "time_s": server.clock(),
            "token_days": registrar.days,
        }

    def purpose_of(request: Request) -> Purpose:
        days, period = (read_number(request.path_params[name]) for name in ("days", "period"))
        return Purpose(read_name(request, "collector"), days, period, request.query_params.get("area", ""))

    def key_of(request: Request) -> Any:
        purpose = purpose_of(request)
        person = server.sender_of(request, body_digest(b"")) if purpose.area else b""
        return registrar.key_of(purpose, person, server.clock())

    def admit(_: Request, person: bytes, code: bytes) -> Any:
        try:
            registrar.admit(person, code.decode("ascii"))
        except UnicodeDecodeError as error:
            raise PeerError("out-of-range", "an invitation that is not text") from error
        return {"admitted": True}

    async def sign(request: Request) -> Any:
        purpose = purpose_of(request)
        async with server.read_large(request, lambda _: MODULUS_BYTES) as (sender, body):
            return await server.pools.quick(registrar.sign, purpose, sender, body, server.clock())

    server.add_public("/v1/registrar", about)
    server.add_public("/v1/keys/{collector}/{days}/{period}", key_of)
    server.add_small("POST", "/v1/persons", admit)
    server.add("POST", "/v1/tokens/{collector}/{days}/{period}", sign)
