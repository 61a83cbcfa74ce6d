"""The collector's application: it signs every answer."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

from fastapi import FastAPI, Request, Response

from shoal.errors import InputError
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.authority import IDENTIFIER_BYTES
from shoal_collect.roles.days import withdrawal_text
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import DAY_S, body_digest, snapshot_day, write_json
from shoal_collect.server.http import (
    DOWN,
    JSON,
    Server,
    read_name,
    read_number,
    read_query,
    waiting_of,
)
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.server.news import News
from shoal_collect.server.people_page import PeoplePage
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import Database, may_delete
from shoal_collect.storage.days import ClosedDays, StoredReleases
from shoal_collect.storage.questions import Groups, batches_asked


@dataclass(frozen=True)
class CollectorSettings:
    """The operator's choices, beside the terms.

    ``round_size``, ``join_s``: A roster freezes with this many members, or after this many seconds with
    enough for one group. ``authority``: the authority's address, for the page for people; may be empty.
    """

    places: PublicPlaces
    _: KW_ONLY
    round_size: int
    join_s: float
    authority: str = ""


def collector_application(
    database: Database,
    signing_seed: bytes,
    terms: Terms,
    settings: CollectorSettings,
    draw_bytes: Callable[[int], bytes],
    *,
    clock: Callable[[], float] = time.time,
    quiet: bool = False,
) -> FastAPI:
    """Serve a collector; all state is in the database, so it may stop at any moment.

    ``terms``: of rounds that open now. ``draw_bytes``: draws the names of rounds. InputError if the database
    belongs to another collector.
    """
    key, mailbox = verify_key(signing_seed), Mailbox(database, signing_seed)
    rounds = Rounds(
        database, terms, draw_bytes, round_size=settings.round_size, join_s=settings.join_s, collector_key=key
    )

    def gauges() -> dict[str, float]:
        return {
            **mailbox.gauges(),
            **{f"rounds_{phase}": n for phase, n in rounds.counts().items()},
            "waiting": news.n_waiting,
        }

    server = Server("shoal collector", signing_seed, database, clock, gauges, quiet=quiet)
    news = News(database, rounds, server.pools, clock)
    server.app.state.release = news.release
    _require_owner(database, key)
    releases = StoredReleases(database)
    cleanup = DailyCleanup(database, releases, terms)
    cleanup.at(clock())
    rounds.resume(clock())

    def about(_: Request) -> Any:
        now_s = clock()
        cleanup.at(now_s)
        return {
            "server_key": key.hex(),
            "time_s": now_s,
            "day": int(now_s // DAY_S),
            "terms": rounds.terms_at(now_s).model_dump(),
            "places": settings.places.until(now_s).model_dump(),
        }

    page = PeoplePage(key, rounds.open_round, settings.round_size, settings.authority, DOWN)

    @server.app.get("/")
    def people() -> Response:
        now_s = clock()
        return page.at(now_s, rounds.terms_at(now_s))

    # first, since most requests are of these, and routes are tried in turn
    _add_groups(server, mailbox, news)
    server.add_public("/v1/about", about)
    _add_rounds(server, rounds, news)
    _add_releases(server, releases)
    _add_days(server, database, terms)
    return server.app


def _require_owner(database: Database, key: bytes) -> None:
    """Under another key stored releases could not be claimed."""
    with database.transaction():
        database.change(
            "INSERT INTO collector_key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM collector_key)", (key,)
        )
        owner = bytes(database.rows("SELECT key FROM collector_key")[0][0])
    if owner != key:
        raise InputError(
            f"the database belongs to the collector with the key {owner.hex()}; restore its key file, or "
            "name another database"
        )


def _add_rounds(server: Server, rounds: Rounds, news: News) -> None:
    async def view(request: Request) -> Any:
        wait_s, seen = waiting_of(request)
        signed = "Authorization" in request.headers  # whoever has joined is shown more
        identity = server.sender_of(request, body_digest(b"")) if signed else None
        about = read_name(request)

        async def answer() -> bytes:
            return write_json(await server.pools.quick(rounds.view, about, identity, server.clock()))

        joined = identity is not None and await server.pools.quick(rounds.has_joined, about, identity)
        return await news.wait_for(about, wait_s if joined else 0.0, seen, answer)

    def taking(take: Callable[[bytes, bytes, bytes, float], Any]) -> Callable[[Request, bytes, bytes], Any]:
        return lambda request, sender, body: take(read_name(request), sender, body, server.clock())

    server.add_public("/v1/rounds", lambda _: rounds.open_round(server.clock()))
    server.add("GET", "/v1/rounds/{name}", view, JSON)
    server.add_small("POST", "/v1/rounds/{name}/roster", taking(rounds.join))
    server.add_small("POST", "/v1/rounds/{name}/commits", taking(rounds.commit))
    server.add_small("POST", "/v1/rounds/{name}/reveals", taking(rounds.reveal))


def _add_groups(server: Server, mailbox: Mailbox, news: News) -> None:
    async def send(request: Request) -> Any:
        async with server.read_large(request, mailbox.groups.longest_letters) as (sender, body):
            return {"new": await server.pools.quick(mailbox.send, sender, body, server.clock())}

    async def fetch(request: Request) -> Any:
        wait_s, seen = waiting_of(request)
        after = read_query(request, "after", int, 0)
        if not 0 <= after < 1 << 62:
            raise PeerError("out-of-range", "letters after a number that cannot be")
        sender, _ = await server.read_small(request)

        async def answer() -> bytes:
            return await server.pools.quick(mailbox.fetch, sender, after)

        is_member = await server.pools.quick(mailbox.groups.is_member, sender)
        return await news.wait_for(sender, wait_s if is_member else 0.0, seen, answer)

    @asynccontextmanager
    async def records(request: Request) -> AsyncIterator[tuple[bytes, bytes, bytes]]:
        group = read_name(request)
        async with server.read_large(request, lambda who: mailbox.groups.longest_batch(who, group)) as sent:
            yield sent[0], group, sent[1]

    async def ask(request: Request) -> Any:
        async with records(request) as brought:
            answers = await server.pools.counting(mailbox.ask, *brought, server.clock())
        server.watch.count_questions(answers)
        return answers

    async def deliver(request: Request) -> Any:
        async with records(request) as brought:
            return await server.pools.quick(mailbox.deliver, *brought, server.clock())

    server.add("GET", "/v1/letters", fetch)
    server.add("POST", "/v1/letters", send)
    server.add("POST", "/v1/groups/{name}/questions", ask)
    server.add("POST", "/v1/groups/{name}/releases", deliver)


def _add_releases(server: Server, releases: StoredReleases) -> None:
    days = ClosedDays(releases.database)

    def fetch(request: Request, sender: bytes, _: bytes) -> Any:
        identifier = _identifier(request)
        release = releases.owned(identifier, sender)
        points = [point.row for point in release.points]
        reply = {"identifier": identifier, "day": release.day, "points": points}
        return reply | {"closed_day": days.path_of(identifier)}

    def withdraw(request: Request, sender: bytes, _: bytes) -> Any:
        identifier = _identifier(request)
        day, due = releases.withdraw(identifier, sender, int(server.clock() // DAY_S))
        proof = signature(server.signing_seed, b"withdrawn", withdrawal_text(identifier, day, due))
        return {"identifier": identifier, "day": day, "due": due, "proof": proof.hex()}

    server.add_small("GET", "/v1/releases/{identifier}", fetch)
    server.add_small("POST", "/v1/releases/{identifier}/withdrawal", withdraw)


class DailyCleanup:
    """Deletes what is due, once a day, by the shortest retention in any terms.

    Nothing while the clock may have jumped.
    """

    def __init__(self, database: Database, releases: StoredReleases, terms: Terms) -> None:
        self._db, self._held, self._terms = database, releases, terms
        self._day: int | None = None

    def at(self, now_s: float) -> None:
        """Unless it has run today."""
        today = int(now_s // DAY_S)
        with self._db.transaction():
            even = may_delete(self._db, now_s)
        if even and today != self._day:
            promised = [round_terms.get("kept_days") for round_terms in self._held.terms()] + [
                self._terms.kept_days
            ]
            self._held.tidy(today, min((days for days in promised if days is not None), default=None))
            self._day = today


def _identifier(request: Request) -> str:
    text = str(request.path_params["identifier"])
    if len(text) != IDENTIFIER_BYTES or not set(text) <= set("0123456789abcdef"):
        raise PeerError("wrong-session", "an address whose identifier is not 32 hexadecimal digits")
    return text


def _add_days(server: Server, database: Database, terms: Terms) -> None:
    days, groups = ClosedDays(database), Groups(database)
    witnesses = {bytes.fromhex(witness.key) for witness in terms.witnesses}

    def for_witness(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        def checked(request: Request) -> Any:
            if server.sender_of(request, body_digest(b"")) not in witnesses:
                raise PeerError("not-entitled", "somebody who is not a witness of this collector")
            return answer(request)

        return checked

    def closed(request: Request) -> Any:
        if witnesses:
            days.state_before(snapshot_day(server.clock()))
        return days.after(read_query(request, "after", int, -1))

    def asked(request: Request) -> Any:
        session = read_name(request)
        facts = {"terms": groups.terms_of(session).model_dump(), "asked": batches_asked(database, session)}
        return facts | {"members": groups.members(session)}

    server.add_public("/v1/days", closed)
    server.add_public(
        "/v1/days/{day}", for_witness(lambda request: days.batch(read_number(request.path_params["day"])))
    )
    server.add_public("/v1/groups/{name}/asked", for_witness(asked))
