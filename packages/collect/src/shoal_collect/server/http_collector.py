"""The collector's application: it signs every answer."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response

from shoal.errors import InputError
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.authority import IDENTIFIER_BYTES
from shoal_collect.roles.days import withdrawal_text
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import ANSWER_BYTES, DAY_S, body_digest, count_withheld, snapshot_day
from shoal_collect.server.http import (
    DOWN,
    JSON,
    PlainRoute,
    Server,
    add_health,
    new_application,
    read_name,
    read_query,
    signed_reply,
    waiting_of,
)
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.server.news import News
from shoal_collect.server.people_page import PeoplePage
from shoal_collect.server.rounds import Rounds
from shoal_collect.server.watch import Watch
from shoal_collect.storage.database import Database, may_delete
from shoal_collect.storage.days import ClosedDays, StoredReleases
from shoal_collect.storage.questions import Groups, batches_asked


@dataclass(frozen=True)
class CollectorSettings:
    """The operator's choices, beside the terms.

    ``places``: public places that fakes are drawn from. ``round_size``, ``join_s``: A roster freezes with
    this many members, or after this many seconds with enough for one group. ``authority``: the authority's
    address, for the page for people; may be empty.
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

    ``database``: the collector's database; InputError if it belongs to another collector. ``signing_seed``:
    32 secret bytes that sign answers, receipts and replies. ``terms``: the terms of rounds that open now.
    ``settings``: choices of the operator. ``draw_bytes``: draws the names of rounds. ``clock``: returns the
    time, in seconds since 1970. ``quiet``: write no log.
    """
    key = verify_key(signing_seed)
    rounds = Rounds(
        database, terms, draw_bytes, round_size=settings.round_size, join_s=settings.join_s, collector_key=key
    )
    server, mailbox = Server(signing_seed, clock), Mailbox(database, signing_seed)
    news = News(database, rounds, server.pools, clock)

    _require_owner(database, server.key)
    releases = StoredReleases(database)
    cleanup = DailyCleanup(database, releases, terms)
    cleanup.at(clock())
    rounds.resume(clock())

    def gauges() -> dict[str, float]:
        return {
            **mailbox.gauges(),
            **{f"rounds_{phase}": n for phase, n in rounds.counts().items()},
            "waiting": news.n_waiting,
        }

    watch = Watch(gauges, quiet=quiet)
    app = new_application("shoal collector", watch, signing_seed)

    app.state.release = news.release
    _add_groups(
        app, server, mailbox, news, watch
    )  # first, since most requests are of these, and routes are tried in turn
    add_health(app, server.pools, database)

    @app.get("/v1/about")
    def about(request: Request) -> Response:
        now_s = clock()
        cleanup.at(now_s)
        facts = {"server_key": server.key.hex(), "time_s": now_s, "day": int(now_s // DAY_S)}
        facts |= {
            "terms": rounds.terms_at(now_s).model_dump(),
            "places": settings.places.until(now_s).model_dump(),
        }
        return server.reply(request, facts)

    page = PeoplePage(server.key, rounds.open_round, settings.round_size, settings.authority, DOWN)

    @app.get("/")
    def people() -> Response:
        now_s = clock()
        return page.at(now_s, rounds.terms_at(now_s))

    _add_rounds(app, server, rounds, news)
    _add_releases(app, server, releases)
    _add_days(app, server, database, terms)
    return app


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


def _add_rounds(app: FastAPI, server: Server, rounds: Rounds, news: News) -> None:
    Small = Annotated[tuple[bytes, bytes], Depends(server.read_small)]  # noqa: N806  (a type)

    @app.get("/v1/rounds")
    def open_round(request: Request) -> Response:
        return server.reply(request, rounds.open_round(server.clock()))

    async def view(request: Request) -> Response:
        wait_s, seen = waiting_of(request)
        signed = "Authorization" in request.headers  # whoever has joined is shown more
        identity = server.sender_of(request, body_digest(b"")) if signed else None
        about = read_name(request.path_params["name"])

        async def answer() -> bytes:
            return json.dumps(await server.pools.quick(rounds.view, about, identity, server.clock())).encode()

        joined = identity is not None and await server.pools.quick(rounds.has_joined, about, identity)
        content = await news.wait_for(about, wait_s if joined else 0.0, seen, answer)
        return signed_reply(request, content, server.signing_seed, media_type=JSON)

    app.router.routes.append(PlainRoute("/v1/rounds/{name}", view, methods=["GET"]))

    @app.post("/v1/rounds/{name}/roster")
    def join(request: Request, name: str, sent: Small) -> Response:
        return server.reply(request, rounds.join(read_name(name), *sent, server.clock()))

    @app.post("/v1/rounds/{name}/commits")
    def commit(request: Request, name: str, sent: Small) -> Response:
        return server.reply(request, rounds.commit(read_name(name), *sent, server.clock()))

    @app.post("/v1/rounds/{name}/reveals")
    def reveal(request: Request, name: str, sent: Small) -> Response:
        return server.reply(request, rounds.reveal(read_name(name), *sent, server.clock()))


def _add_groups(app: FastAPI, server: Server, mailbox: Mailbox, news: News, watch: Watch) -> None:
    async def send(request: Request) -> Response:
        async with server.read_large(request, mailbox.longest_letters) as (sender, body):
            new = await server.pools.quick(mailbox.send, sender, body, server.clock())
        return server.reply(request, {"new": new})

    async def fetch(request: Request) -> Response:
        wait_s, seen = waiting_of(request)
        after = read_query(request, "after", int, 0)
        if not 0 <= after < 1 << 62:
            raise PeerError("out-of-range", "letters after a number that cannot be")
        sender, _ = await server.read_small(request)

        async def answer() -> bytes:
            return await server.pools.quick(mailbox.fetch, sender, after)

        is_member = await server.pools.quick(mailbox.is_member, sender)
        content = await news.wait_for(sender, wait_s if is_member else 0.0, seen, answer)
        return server.reply(request, content)

    @asynccontextmanager
    async def records(request: Request) -> AsyncIterator[tuple[bytes, bytes, bytes]]:
        group = read_name(request.path_params["name"])
        async with server.read_large(request, lambda who: mailbox.longest_batch(who, group)) as sent:
            yield sent[0], group, sent[1]

    async def ask(request: Request) -> Response:
        async with records(request) as brought:
            answers = await server.pools.counting(mailbox.ask, *brought, server.clock())
        watch.count_questions(len(answers) // ANSWER_BYTES, count_withheld(answers))
        return server.reply(request, answers)

    async def deliver(request: Request) -> Response:
        async with records(request) as brought:
            outcome = await server.pools.quick(mailbox.deliver, *brought, server.clock())
        return server.reply(request, outcome)

    app.router.routes += [
        PlainRoute("/v1/letters", fetch, methods=["GET"]),
        PlainRoute("/v1/letters", send, methods=["POST"]),
        PlainRoute("/v1/groups/{name}/questions", ask, methods=["POST"]),
        PlainRoute("/v1/groups/{name}/releases", deliver, methods=["POST"]),
    ]


def _add_releases(app: FastAPI, server: Server, releases: StoredReleases) -> None:
    Small = Annotated[tuple[bytes, bytes], Depends(server.read_small)]  # noqa: N806  (a type)

    days = ClosedDays(releases.database)

    @app.get("/v1/releases/{identifier}")
    def fetch(request: Request, identifier: str, sent: Small) -> Response:
        release = releases.owned(_identifier(identifier), sent[0])
        points = [point.row for point in release.points]
        reply = {"identifier": identifier, "day": release.day, "points": points}
        return server.reply(request, reply | {"closed_day": days.path_of(identifier)})

    @app.post("/v1/releases/{identifier}/withdrawal")
    def withdraw(request: Request, identifier: str, sent: Small) -> Response:
        today = int(server.clock() // DAY_S)
        day, due = releases.withdraw(_identifier(identifier), sent[0], today)
        proof = signature(server.signing_seed, b"withdrawn", withdrawal_text(identifier, day, due))
        reply: dict[str, Any] = {"identifier": identifier, "day": day, "due": due, "proof": proof.hex()}
        return server.reply(request, reply)


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


def _identifier(text: str) -> str:
    if len(text) != IDENTIFIER_BYTES or not set(text) <= set("0123456789abcdef"):
        raise PeerError("wrong-session", "an address whose identifier is not 32 hexadecimal digits")
    return text


def _add_days(app: FastAPI, server: Server, database: Database, terms: Terms) -> None:
    days, groups = ClosedDays(database), Groups(database)
    witnesses = {bytes.fromhex(witness.key) for witness in terms.witnesses}

    def require_witness(request: Request) -> None:
        if server.sender_of(request, body_digest(b"")) not in witnesses:
            raise PeerError("not-entitled", "somebody who is not a witness of this collector")

    @app.get("/v1/days")
    def closed(request: Request, after: int = -1) -> Response:
        days.state_before(snapshot_day(server.clock()))
        return server.reply(request, [closed_day.to_json() for closed_day in days.after(after)])

    @app.get("/v1/days/{day}")
    def batch(request: Request, day: int) -> Response:
        require_witness(request)
        return server.reply(request, days.batch(day))

    @app.get("/v1/groups/{name}/asked")
    def asked(request: Request, name: str) -> Response:
        require_witness(request)
        session = read_name(name)
        facts = {"terms": groups.terms_of(session).model_dump(), "asked": batches_asked(database, session)}
        return server.reply(
            request, facts | {"members": [member.hex() for member in groups.members(session)]}
        )
