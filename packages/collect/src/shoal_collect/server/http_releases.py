"""A person's own releases over HTTP: whoever holds a release's key may fetch it, and take it back."""

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response

from shoal_collect.crypto.signatures import signature
from shoal_collect.faults import PeerError
from shoal_collect.roles.authority import IDENTIFIER_BYTES
from shoal_collect.roles.stored_releases import withdrawal_text
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import DAY_S
from shoal_collect.server.http import Server
from shoal_collect.storage.clock import may_delete
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.stored import StoredReleases


def add_releases(app: FastAPI, server: Server, held: StoredReleases) -> None:
    """Add the addresses of stored releases; a request is signed with the release's own key."""
    Small = Annotated[tuple[bytes, bytes], Depends(server.small)]  # noqa: N806  (a type)

    days = ClosedDays(held.database)

    @app.get("/v1/releases/{identifier}")
    def fetch(request: Request, identifier: str, sent: Small) -> Response:
        found = held.owned(_identifier(identifier), sent[0])
        points = [[p.start_min, p.gap_min, p.lat_udeg, p.lon_udeg, p.radius_m] for p in found.points]
        told = {"identifier": identifier, "day": found.day, "points": points}
        return server.signed(request, told | {"closed_day": days.path_of(identifier)})

    @app.post("/v1/releases/{identifier}/withdrawal")
    def withdraw(request: Request, identifier: str, sent: Small) -> Response:
        today = int(server.clock() // DAY_S)
        day, due = held.withdraw(_identifier(identifier), sent[0], today)
        proof = signature(server.signing_seed, b"withdrawn", withdrawal_text(identifier, day, due))
        told: dict[str, Any] = {"identifier": identifier, "day": day, "due": due, "proof": proof.hex()}
        return server.signed(request, told)


class Tidying:
    """Deletes what is due, once a day, by the shortest time that any terms of this collector have promised.

    Nothing is deleted while the clock may have leapt.

    Parameters
    ----------
    database
        The collector's.
    held
        What is stored.
    terms
        The terms of rounds that open now.
    """

    def __init__(self, database: Database, held: StoredReleases, terms: Terms) -> None:
        self._db, self._held, self._terms = database, held, terms
        self._day: int | None = None

    def at(self, now_s: float) -> None:
        """Do it if it was not done yet on this day; ``now_s`` is the time in seconds since 1970."""
        today = int(now_s // DAY_S)
        with self._db.transaction():
            even = may_delete(self._db, now_s)
        if even and today != self._day:
            promised = [one.get("kept_days") for one in self._held.terms()] + [self._terms.kept_days]
            self._held.tidy(today, min((days for days in promised if days is not None), default=None))
            self._day = today


def _identifier(text: str) -> str:
    if len(text) != IDENTIFIER_BYTES or not set(text) <= set("0123456789abcdef"):
        raise PeerError("wrong-session", "an address whose identifier is not 32 hexadecimal digits")
    return text
