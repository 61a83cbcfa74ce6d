"""Closed days over HTTP: their roots for everybody, what is under them for the collector's witnesses."""

from fastapi import FastAPI, Request, Response

from shoal_collect.faults import PeerError
from shoal_collect.roles.requests import body_digest
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import snapshot_day
from shoal_collect.server.http import Server, named
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.groups import Groups
from shoal_collect.storage.questions import asked_by


def add_days(app: FastAPI, server: Server, database: Database, terms: Terms) -> None:
    """Add the addresses of closed days, and of what a group has asked."""
    days, groups = ClosedDays(database), Groups(database)
    witnesses = {bytes.fromhex(one.key) for one in terms.witnesses}

    def require_witness(request: Request) -> None:
        if server.sender_of(request, body_digest(b"")) not in witnesses:
            raise PeerError("not-entitled", "somebody who is not a witness of this collector")

    @app.get("/v1/days")
    def closed(request: Request, after: int = -1) -> Response:
        days.state_before(snapshot_day(server.clock()))
        return server.signed(request, [one.to_json() for one in days.after(after)])

    @app.get("/v1/days/{day}")
    def batch(request: Request, day: int) -> Response:
        require_witness(request)
        return server.signed(request, days.batch(day))

    @app.get("/v1/groups/{name}/asked")
    def asked(request: Request, name: str) -> Response:
        require_witness(request)
        session = named(name)
        told = {"terms": groups.terms_of(session).model_dump(), "asked": asked_by(database, session)}
        return server.signed(request, told | {"members": [one.hex() for one in groups.members(session)]})
