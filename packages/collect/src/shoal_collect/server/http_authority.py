"""The authority's application: sealed claims, never a trajectory."""

import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.authority import Authority
from shoal_collect.server.http import Server, announced_digest, read_body, require_digest
from shoal_collect.server.registrar import Registrar, add_registrar
from shoal_collect.storage.database import Database

_CLAIM_BYTES = 4096


def secrets_of(seed: bytes) -> tuple[bytes, bytes]:
    """From 32 bytes: one secret opens claims, one signs."""
    chance = Chance(seed)
    return envelope.draw_secret(chance), chance.seed()


class ClaimBook:
    """Owners of identifiers.

    ``seed``: 32 secret bytes; receipts count under ``collector_keys``.
    """

    def __init__(self, database: Database, seed: bytes, collector_keys: frozenset[bytes]) -> None:
        sealing_secret, self.signing_seed = secrets_of(seed)
        self.database = self._db = database
        self._authority = Authority(sealing_secret, collector_keys)
        self.collectors = sorted(key.hex() for key in collector_keys)

    @property
    def facts(self) -> dict[str, str]:
        """The keys for claims and confirmations."""
        return {
            "authority_key": self._authority.public_key.hex(),
            "signing_key": verify_key(self.signing_seed).hex(),
        }

    def take(self, sealed: bytes) -> dict[str, str]:
        """Store a claim and confirm it; a repetition has no effect."""
        identifier, user = self._authority.read(sealed)
        with self._db.transaction():
            self._db.change("INSERT INTO claim VALUES (?, ?) ON CONFLICT DO NOTHING", (identifier, user))
            owner = self._db.rows("SELECT owner FROM claim WHERE identifier = ?", (identifier,))[0][0]
            if owner != user:
                raise PeerError("not-entitled", "an identifier that somebody else has claimed")
        return {
            "identifier": identifier,
            "proof": signature(self.signing_seed, b"claimed", f"{identifier} {user}".encode()).hex(),
        }

    def identifiers_of(self, user: str) -> list[str]:
        """All identifiers that a user claimed."""
        rows = self._db.rows("SELECT identifier FROM claim WHERE owner = ? ORDER BY identifier", (user,))
        return [str(row[0]) for row in rows]

    @property
    def n_claims(self) -> int:
        """How many."""
        return int(self._db.rows("SELECT COUNT(*) FROM claim")[0][0])


def authority_application(
    book: ClaimBook,
    *,
    quiet: bool = False,
    clock: Callable[[], float] = time.time,
    registrar: Registrar | None = None,
) -> FastAPI:
    """Serve the authority; ownership cannot be queried.

    ``registrar``: may run in the same application.
    """
    server = Server(
        "shoal authority",
        book.signing_seed,
        book.database,
        clock,
        lambda: {"claims": book.n_claims},
        quiet=quiet,
    )

    def about(_: Request) -> Any:
        return {**book.facts, "collectors": book.collectors, "time_s": clock()}

    async def claim(request: Request) -> Any:
        sealed = await read_body(request, _CLAIM_BYTES)
        require_digest(sealed, announced_digest(request))
        return await server.pools.quick(book.take, sealed)

    server.add_public("/v1/about", about)
    server.add("POST", "/v1/claims", claim)
    if registrar is not None:
        add_registrar(server, registrar)
    return server.app
