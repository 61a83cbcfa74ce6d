"""A witness: a further collector over the same database, with a key of its own, which only answers what the first has answered.

Members compare the answers of all. So a collector that answers something else than its database holds is found out, unless
the witness lies alike. What is false in the database itself no witness sees.
"""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response

from shoal.collect.faults import PeerError
from shoal.collect.matching.records import RECORD_BYTES
from shoal.collect.roles.collector import Collector
from shoal.collect.roles.wire import batch_digest, split_records
from shoal.collect.server.http import Desk, Watch, named, new_application
from shoal.collect.storage.database import Database
from shoal.collect.storage.groups import Groups
from shoal.collect.storage.phi import PhiStore


class Witness:
    """It writes nothing.

    What the first collector has answered stands in the database as a batch that was charged to its asker.
    """

    def __init__(self, database: Database, signing_seed: bytes) -> None:
        self._db, self._groups, self._store, self._signing_seed = (
            database,
            Groups(database),
            PhiStore(database),
            signing_seed,
        )

    def ask(self, identity: bytes, session: bytes, body: bytes, snapshot: int) -> bytes:
        """The signed answers from the state before the day ``snapshot``.

        Raises PeerError for what the first has not answered from it.
        """
        self._groups.membership(identity, session)
        records = split_records(body)
        charged = "SELECT 1 FROM quota WHERE identity = ? AND day = ? AND batch = ?"
        if self._db.row(charged, (identity, snapshot, batch_digest(body))) is None:
            raise PeerError(
                "not-entitled",
                "questions that the first collector has not answered from this day's state; ask it first",
            )
        collector = Collector(self._store, self._signing_seed, self._groups.terms_of(session).rules.likeness)
        return b"".join(collector.reply(record, snapshot) for record in records)


def witness_application(
    database: Database, signing_seed: bytes, *, clock: Callable[[], float] = time.time, quiet: bool = False
) -> FastAPI:
    """The witness behind its addresses."""
    desk, witness, watch = (
        Desk(signing_seed, clock),
        Witness(database, signing_seed),
        Watch(dict, quiet=quiet),
    )
    app = new_application("shoal witness", watch)
    Large = Annotated[tuple[bytes, bytes], Depends(desk.large)]  # noqa: N806  (a type)

    @app.get("/health")
    def health() -> Response:
        database.row("SELECT 1")
        return Response('{"status": "ok"}', media_type="application/json")

    @app.get("/v1/about")
    def about(request: Request) -> Response:
        return desk.signed(request, {"server_key": desk.key.hex(), "time_s": clock()})

    @app.post("/v1/groups/{name}/questions")
    def ask(request: Request, name: str, snapshot: int, sent: Large) -> Response:
        if not 0 <= snapshot < 1 << 31:
            raise PeerError("out-of-range", "a day that no state has")
        answers = witness.ask(sent[0], named(name), sent[1], snapshot)
        watch.add("phi_queries", len(sent[1]) // RECORD_BYTES)
        return desk.signed(request, answers)

    return app
