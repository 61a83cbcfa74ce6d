"""A witness: a further collector with its own key, over its own copy of what the first has closed.

It answers only questions that the first collector has answered, and members compare. It copies closed days
and checks their roots. So a collector that answers something else than its database holds, or changes a
closed day, is detected, unless the witness tells the same lie. It also asks for a group's questions and
terms. That decides only which questions are answered, never how. No witness detects entries that were false
from the start.
"""

import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request

from shoal_collect.faults import PeerError, refusing
from shoal_collect.matching.records import Release
from shoal_collect.roles.days import ClosedDay
from shoal_collect.roles.terms import read_terms
from shoal_collect.roles.wire import DAY_S, body_digest, read_batch
from shoal_collect.server.http import Server, read_name, read_number
from shoal_collect.server.mailbox import collector_for
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import SETTLES_DAYS, ClosedDays, StoredReleases
from shoal_collect.storage.phi import PhiStore
from shoal_collect.storage.questions import AskedQuestions, Groups, repeat_answers


class DayFollower:
    """Copies closed days.

    ``ask``: requests an address, and returns the checked JSON; PeerError for a refusal. ``require``: raises
    PeerError for a release that has no right to its scope.
    """

    def __init__(
        self,
        database: Database,
        ask: Callable[[str], Any],
        require: Callable[[Release, bytes], None] = lambda *_: None,
    ) -> None:
        self._db, self._ask, self._days, self._require = database, ask, ClosedDays(database), require

    def follow_until(self, day: int) -> None:
        """Copy all closed days before this one; PeerError for entries not under a root."""
        while True:
            reply = self._ask(f"/v1/days?after={self._days.last_day}")
            days = [ClosedDay.read(entry).day for entry in reply] if isinstance(reply, list) else []
            new = [closed for closed in days if self._days.last_day < closed < day]
            if not new:
                break
            for closed in new:
                self._days.take(closed, self._ask(f"/v1/days/{closed}"), self._require)
        StoredReleases(self._db).tidy(day, None)
        self._forget(day * DAY_S)

    def _forget(self, now_s: int) -> None:
        with self._db.transaction():
            for table in ("ticket", "asked"):
                over = "session IN (SELECT name FROM round WHERE deadline_s < ?)"
                self._db.change(f"DELETE FROM {table} WHERE {over}", (now_s,))  # noqa: S608  (tables of ours)
            self._db.change("DELETE FROM round WHERE deadline_s < ?", (now_s,))

    def follow_group(self, session: bytes) -> None:
        """Copy a group's members, terms and questions."""
        reply = self._ask(f"/v1/groups/{session.hex()}/asked")
        with refusing("bad-frame", "words that do not say what a group has asked"):
            members = [bytes.fromhex(member) for member in reply["members"]]
            batches = [
                (
                    bytes.fromhex(entry["batch"]),
                    bytes.fromhex(entry["identity"]),
                    int(entry["day"]),
                    None if entry["withheld"] is None else bytes.fromhex(entry["withheld"]),
                )
                for entry in reply["asked"]
            ]
            terms = read_terms(reply["terms"])
        first_day = min((day for _, _, day, _ in batches), default=0)
        until_s = (first_day + SETTLES_DAYS) * DAY_S + terms.lifetime_s  # so long a group may still ask
        with self._db.transaction():
            self._db.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'over', 0, ?) "
                "ON CONFLICT (name) DO UPDATE SET deadline_s = excluded.deadline_s",
                (session, terms.model_dump_json(), until_s),
            )
            number = self._db.rows("SELECT id FROM round WHERE name = ?", (session,))[0][0]
            for place, who in enumerate(members):
                self._db.change(
                    "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES "
                    "(?, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING",
                    (number, who, b"", session, place),
                )
            for row in batches:
                self._db.change("DELETE FROM asked WHERE session = ? AND batch = ?", (session, row[0]))
                self._db.change("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", (session, *row))


class Witness:
    """Answers from the copy of ``following``, and withholds what the collector withheld."""

    def __init__(self, database: Database, signing_seed: bytes, following: DayFollower) -> None:
        self._db, self._groups, self._store = database, Groups(database), PhiStore(database)
        self._signing_seed, self._following, self._days = signing_seed, following, ClosedDays(database)

    def longest_batch(self, identity: bytes, session: bytes) -> int:
        """Bytes that a member may send."""
        self._know(session)
        return self._groups.longest_batch(identity, session)

    def _know(self, session: bytes) -> None:
        """The collector is asked once for each group, and no stranger makes the witness ask again."""
        try:
            self._groups.members(session)
        except PeerError:
            self._following.follow_group(session)

    def ask(self, identity: bytes, session: bytes, body: bytes, snapshot: int) -> bytes:
        """Answer from the state before ``snapshot``; PeerError if the collector has not."""
        self._know(session)
        _, members = self._groups.membership(identity, session)
        batch = read_batch(session, members, body)
        self._following.follow_group(session)
        entry = AskedQuestions(self._db).find_batch(session, body_digest(batch.questions))
        if entry is None or entry[0] != snapshot or entry[1] is None:
            raise PeerError(
                "not-entitled",
                "questions that the collector has not answered from this day's state; ask it first",
            )
        self._following.follow_until(snapshot)  # a day that the collector has answered, not anybody's word
        collector = collector_for(self._store, self._signing_seed, self._groups.terms_of(session), session)
        records = batch.records
        people = repeat_answers(records, entry[1], lambda record: collector.people(record, snapshot))
        state = self._days.state_before(snapshot, close=False)
        answers = zip(records, people, strict=True)
        return b"".join(collector.sign_answer(question, n, snapshot, state) for question, n in answers)


def witness_application(
    database: Database,
    signing_seed: bytes,
    following: DayFollower,
    *,
    clock: Callable[[], float] = time.time,
    quiet: bool = False,
) -> FastAPI:
    """Serve the witness."""
    server = Server("shoal witness", signing_seed, database, clock, quiet=quiet)
    witness = Witness(database, signing_seed, following)

    def about(_: Request) -> Any:
        return {"server_key": server.key.hex(), "time_s": clock()}

    async def ask(request: Request) -> Any:
        group, snapshot = read_name(request), read_number(request.query_params.get("snapshot", ""))
        if not 0 <= snapshot < 1 << 31:
            raise PeerError("out-of-range", "a day that cannot be")
        async with server.read_large(request, lambda who: witness.longest_batch(who, group)) as sent:
            sender, body = sent
            answers = await server.pools.counting(witness.ask, sender, group, body, snapshot)
        server.watch.count_questions(answers)
        return answers

    server.add_public("/v1/about", about)
    server.add("POST", "/v1/groups/{name}/questions", ask)
    return server.app
