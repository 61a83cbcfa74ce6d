"""The collector's web application: it signs every answer, and a member signs every request of hers."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response

from shoal.errors import InputError
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.collector import ANSWER_BYTES
from shoal_collect.roles.requests import body_digest
from shoal_collect.roles.succession import Successor, find_succession
from shoal_collect.roles.terms import PublicPlaces, Terms
from shoal_collect.roles.wire import DAY_S
from shoal_collect.server.http import (
    DOWN,
    JSON,
    PlainRoute,
    Server,
    add_health,
    named,
    new_application,
    read_query,
    signed_reply,
    waiting_of,
)
from shoal_collect.server.http_days import add_days
from shoal_collect.server.http_releases import Tidying, add_releases
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.server.news import News
from shoal_collect.server.people_page import PeoplePage
from shoal_collect.server.pools import Pools
from shoal_collect.server.rounds import Rounds
from shoal_collect.server.watch import Watch
from shoal_collect.storage.database import Database
from shoal_collect.storage.stored import StoredReleases


@dataclass(kw_only=True)
class _CollectorServer(Server):
    """What the routes work with."""

    rounds: Rounds
    mailbox: Mailbox
    news: News


def collector_application(
    database: Database,
    signing_seed: bytes,
    terms: Terms,
    places: PublicPlaces,
    draw_bytes: Callable[[int], bytes],
    *,
    round_size: int,
    join_s: float,
    quota: int,
    authority: str = "",
    clock: Callable[[], float] = time.time,
    quiet: bool = False,
    successors: Sequence[Successor] = (),
) -> FastAPI:
    """Put the collector behind its addresses; all state is in the database, so it may stop at any moment.

    Parameters
    ----------
    database
        Where everything lies.
    signing_seed
        32 secret bytes; answers, receipts and replies are signed with them.
    terms
        The terms of rounds that open now.
    places
        Public places that fakes are drawn from.
    draw_bytes
        Draws the names of rounds.
    round_size, join_s
        A roster freezes with so many members, or after so many seconds with enough for one group.
    quota
        How many questions one member may ask in a day.
    authority
        The address of the authority, for the page for people; empty where nobody stated it.
    clock
        Tells the time, in seconds since 1970.
    quiet
        Whether to leave out the log.
    successors
        How its key, and those of authority and registrar, followed earlier ones; shown to devices.

    Raises
    ------
    InputError
        If the database belongs to another collector.
    """
    key = verify_key(signing_seed)
    rounds = Rounds(database, terms, draw_bytes, round_size=round_size, join_s=join_s, collector_key=key)
    pools = Pools()
    server = _CollectorServer(
        signing_seed,
        clock,
        pools=pools,
        rounds=rounds,
        mailbox=Mailbox(database, signing_seed, quota=quota),
        news=News(database, rounds, pools, clock),
    )

    _require_owner(database, server.key, successors)
    server.mailbox.expire(clock())
    held = StoredReleases(database)
    tidying = Tidying(database, held, terms)
    tidying.at(clock())
    rounds.resume(clock())

    def gauges() -> dict[str, float]:
        return {
            **server.mailbox.gauges(clock()),
            **{f"rounds_{phase}": n for phase, n in rounds.counts().items()},
            "waiting": server.news.n_waiting,
        }

    watch = Watch(gauges, quiet=quiet)
    app = new_application("shoal collector", watch, signing_seed)

    app.state.release = server.news.release
    _add_groups(app, server, watch)  # first, since most requests are of these, and routes are tried in turn
    add_health(app, server.pools, database)

    @app.get("/v1/about")
    def about(request: Request) -> Response:
        now_s = clock()
        tidying.at(now_s)
        facts = {"server_key": server.key.hex(), "time_s": now_s, "day": int(now_s // DAY_S)}
        facts |= {
            "terms": rounds.terms_at(now_s).model_dump(),
            "places": places.until(now_s).model_dump(),
            "quota": quota,
            "successors": [one.model_dump() for one in successors],
        }
        return server.signed(request, facts)

    page = PeoplePage(server.key, rounds.open_round, round_size, authority, DOWN)

    @app.get("/")
    def people() -> Response:
        now_s = clock()
        return page.at(now_s, rounds.terms_at(now_s))

    _add_rounds(app, server)
    add_releases(app, server, held)
    add_days(app, server, database, terms)
    return app


def _require_owner(database: Database, key: bytes, successors: Sequence[Successor]) -> None:
    """Raise InputError for another collector's database; from then on it is the successor's alone.

    Under another key nobody could claim what is stored, since the authority knows the old one.
    """
    with database.transaction():
        database.change(
            "INSERT INTO collector_key SELECT ? WHERE NOT EXISTS (SELECT 1 FROM collector_key)", (key,)
        )
        owner = bytes(database.rows("SELECT key FROM collector_key")[0][0])
        try:
            if find_succession("collector", owner, key, successors):
                database.change("UPDATE collector_key SET key = ?", (key,))
        except PeerError as error:
            raise InputError(
                f"the database belongs to the collector with the key {owner.hex()}; restore its key file, "
                "name another database, or its successor's statement with --successors"
            ) from error


def _add_rounds(app: FastAPI, server: _CollectorServer) -> None:
    """Add the addresses of the roster and the lottery."""
    Small = Annotated[tuple[bytes, bytes], Depends(server.small)]  # noqa: N806  (a type)
    rounds = server.rounds

    @app.get("/v1/rounds")
    def open_round(request: Request) -> Response:
        return server.signed(request, rounds.open_round(server.clock()))

    async def view(request: Request) -> Response:
        wait_s, seen = waiting_of(request)
        signed = "Authorization" in request.headers  # whoever has joined is shown more
        identity = server.sender_of(request, body_digest(b"")) if signed else None
        about = named(request.path_params["name"])

        async def answer() -> bytes:
            return json.dumps(await server.pools.quick(rounds.view, about, identity, server.clock())).encode()

        found = await server.news.held(about, wait_s if signed else 0.0, seen, answer)
        return signed_reply(request, found, server.signing_seed, media_type=JSON)

    app.router.routes.append(PlainRoute("/v1/rounds/{name}", view, methods=["GET"]))

    @app.post("/v1/rounds/{name}/roster")
    def join(request: Request, name: str, sent: Small) -> Response:
        return server.signed(request, rounds.join(named(name), *sent, server.clock()))

    @app.post("/v1/rounds/{name}/commits")
    def commit(request: Request, name: str, sent: Small) -> Response:
        return server.signed(request, rounds.commit(named(name), *sent, server.clock()))

    @app.post("/v1/rounds/{name}/reveals")
    def reveal(request: Request, name: str, sent: Small) -> Response:
        return server.signed(request, rounds.reveal(named(name), *sent, server.clock()))


def _add_groups(app: FastAPI, server: _CollectorServer, watch: Watch) -> None:
    """Add the addresses of letters, questions and releases."""
    mailbox = server.mailbox

    async def send(request: Request) -> Response:
        async with server.large(request, mailbox.longest_letters) as (sender, body):
            new = await server.pools.quick(mailbox.send, sender, body, server.clock())
        return server.signed(request, {"new": new})

    async def fetch(request: Request) -> Response:
        wait_s, seen = waiting_of(request)
        after = read_query(request, "after", int, 0)
        if not 0 <= after < 1 << 62:
            raise PeerError("out-of-range", "letters after a number that cannot be")
        sender, _ = await server.small(request)

        async def answer() -> bytes:
            return await server.pools.quick(mailbox.fetch, sender, after)

        return server.signed(request, await server.news.held(sender, wait_s, seen, answer))

    async def ask(request: Request) -> Response:
        group = named(request.path_params["name"])
        async with server.large(request, lambda who: mailbox.longest_batch(who, group)) as (sender, body):
            answers = await server.pools.counting(mailbox.ask, sender, group, body, server.clock())
        watch.add("phi_queries", len(answers) // ANSWER_BYTES)
        return server.signed(request, answers)

    async def deliver(request: Request) -> Response:
        group = named(request.path_params["name"])
        async with server.large(request, lambda who: mailbox.longest_batch(who, group)) as (sender, body):
            said = await server.pools.quick(mailbox.deliver, sender, group, body, server.clock())
        return server.signed(request, said)

    app.router.routes += [
        PlainRoute("/v1/letters", fetch, methods=["GET"]),
        PlainRoute("/v1/letters", send, methods=["POST"]),
        PlainRoute("/v1/groups/{name}/questions", ask, methods=["POST"]),
        PlainRoute("/v1/groups/{name}/releases", deliver, methods=["POST"]),
    ]
