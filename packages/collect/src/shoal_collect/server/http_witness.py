"""A witness: a further collector with a key of its own, over the same database or one of its own.

It answers only what the first collector has answered, and members compare the answers of all, with the state
that they were counted over. They find out a collector that answers something other than its database holds,
unless the witness tells the same lie. With a database of its own the witness also finds a collector that
changes a day after it has closed. No witness sees what is false in the database from the start.
"""

import time
from collections.abc import Callable

from fastapi import FastAPI, Request, Response

from shoal_collect.faults import PeerError
from shoal_collect.roles.collector import ANSWER_BYTES
from shoal_collect.roles.vouching import read_batch
from shoal_collect.roles.wire import questions_digest
from shoal_collect.server.following import Following
from shoal_collect.server.http import Server, add_health, named, new_application
from shoal_collect.server.mailbox import collector_for
from shoal_collect.server.watch import Watch
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.groups import Groups
from shoal_collect.storage.phi import PhiStore
from shoal_collect.storage.questions import AskedQuestions, answers_again


class Witness:
    """Answers from the collector's database and writes nothing, or from what it has taken over into its own.

    What the collector has answered stands in the database, with the answers that it withheld.

    Parameters
    ----------
    database
        The collector's own, or one of the witness.
    signing_seed
        32 secret bytes; answers are signed with them.
    following
        Where the database is the witness's own: what takes over the collector's closed days.
    """

    def __init__(self, database: Database, signing_seed: bytes, following: Following | None = None) -> None:
        self._db, self._groups, self._store = database, Groups(database), PhiStore(database)
        self._signing_seed, self._following, self._days = signing_seed, following, ClosedDays(database)

    def longest_batch(self, identity: bytes, session: bytes) -> int:
        """Return how many bytes a member may bring; raise PeerError for anybody else."""
        if self._following is not None:
            self._following.group(session)
        return self._groups.longest_batch(identity, session)

    def ask(self, identity: bytes, session: bytes, body: bytes, snapshot: int) -> bytes:
        """Answer from the state before the day ``snapshot``.

        Raises PeerError for what the collector has not answered from that state.
        """
        if self._following is not None:
            self._following.group(session)
        _, members = self._groups.membership(identity, session)
        batch = read_batch(session, members, body)
        noted = AskedQuestions(self._db, 0).noted(session, questions_digest(batch.questions))
        if noted is None or noted[0] != snapshot or noted[1] is None:
            raise PeerError(
                "not-entitled",
                "questions that the collector has not answered from this day's state; ask it first",
            )
        if self._following is not None:  # by a day that the collector has answered, and not anybody's word
            self._following.until(snapshot)
        collector = collector_for(self._store, self._signing_seed, self._groups.terms_of(session))
        records = batch.records
        people = answers_again(records, noted[1], lambda record: collector.people(record, snapshot))
        state = self._days.state_before(snapshot, close=False)
        answers = zip(records, people, strict=True)
        return b"".join(collector.sign_answer(one, n, snapshot, state) for one, n in answers)


def witness_application(
    database: Database,
    signing_seed: bytes,
    following: Following | None = None,
    *,
    clock: Callable[[], float] = time.time,
    quiet: bool = False,
) -> FastAPI:
    """Put the witness behind its addresses.

    Parameters
    ----------
    database
        The collector's own, or one of the witness.
    signing_seed
        32 secret bytes; answers and replies are signed with them.
    following
        Where the database is the witness's own: what takes over the collector's closed days.
    clock
        Tells the time, in seconds since 1970.
    quiet
        Whether to leave out the log.
    """
    server, witness = Server(signing_seed, clock), Witness(database, signing_seed, following)
    watch = Watch(dict, quiet=quiet)
    app = new_application("shoal witness", watch, signing_seed)

    add_health(app, server.pools, database, writes=following is not None)

    @app.get("/v1/about")
    def about(request: Request) -> Response:
        return server.signed(request, {"server_key": server.key.hex(), "time_s": clock()})

    @app.post("/v1/groups/{name}/questions")
    async def ask(request: Request, name: str, snapshot: int) -> Response:
        if not 0 <= snapshot < 1 << 31:
            raise PeerError("out-of-range", "a day that cannot be")
        group = named(name)
        async with server.large(request, lambda who: witness.longest_batch(who, group)) as (sender, body):
            answers = await server.pools.counting(witness.ask, sender, group, body, snapshot)
        watch.add("phi_queries", len(answers) // ANSWER_BYTES)
        return server.signed(request, answers)

    return app
