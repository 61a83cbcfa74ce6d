"""The collector's web application.

Every answer is signed, every request that belongs to a member is signed by her.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response

from shoal.collect.faults import PeerError
from shoal.collect.matching.records import RECORD_BYTES
from shoal.collect.roles.wire import DAY_S, PublicPlaces, Terms
from shoal.collect.server.http import Desk, Watch, named, new_application
from shoal.collect.server.mailbox import Post
from shoal.collect.server.rounds import Rounds
from shoal.collect.storage.database import Database
from shoal.errors import InputError


@dataclass
class _Counter(Desk):
    """What the routes work with."""

    rounds: Rounds
    post: Post


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
    clock: Callable[[], float] = time.time,
    quiet: bool = False,
) -> FastAPI:
    """All of the collector behind its addresses.

    The state is in the database, so that it may stop at any moment.

    Raises InputError for another collector's database.
    """
    rounds = Rounds(database, terms, draw_bytes, round_size=round_size, join_s=join_s)
    desk = _Counter(signing_seed, clock, rounds, Post(database, signing_seed, quota=quota))

    _check_owner(database, desk.key)
    desk.post.expire(clock())

    def gauges() -> dict[str, float]:
        return {**desk.post.gauges(clock()), **{f"rounds_{phase}": n for phase, n in rounds.counts().items()}}

    watch = Watch(gauges, quiet=quiet)
    app = new_application("shoal collector", watch)

    @app.get("/health")
    def health() -> Response:
        database.row("SELECT 1")
        return Response('{"status": "ok"}', media_type="application/json")

    @app.get("/v1/about")
    def about(request: Request) -> Response:
        now_s = clock()
        facts = {"server_key": desk.key.hex(), "time_s": now_s, "day": int(now_s // DAY_S)}
        facts |= {
            "terms": rounds.terms_at(now_s).model_dump(),
            "places": places.until(now_s).model_dump(),
            "quota": quota,
        }
        return desk.signed(request, facts)

    _add_rounds(app, desk)
    _add_groups(app, desk, watch)
    return app


def _check_owner(database: Database, key: bytes) -> None:
    """A collector under a new key would store releases that nobody can claim.

    The authority knows the old one.
    """
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


def _add_rounds(app: FastAPI, desk: _Counter) -> None:
    """Roster and lots."""
    Small = Annotated[tuple[bytes, bytes], Depends(desk.small)]  # noqa: N806  (a type)
    rounds = desk.rounds

    @app.get("/v1/rounds")
    def open_round(request: Request) -> Response:
        return desk.signed(request, rounds.open_round(desk.clock()))

    @app.get("/v1/rounds/{name}")
    def view(request: Request, name: str) -> Response:
        return desk.signed(request, rounds.view(named(name), desk.clock()))

    @app.post("/v1/rounds/{name}/roster")
    def join(request: Request, name: str, sent: Small) -> Response:
        return desk.signed(request, rounds.join(named(name), *sent, desk.clock()))

    @app.post("/v1/rounds/{name}/commits")
    def commit(request: Request, name: str, sent: Small) -> Response:
        return desk.signed(request, rounds.commit(named(name), *sent, desk.clock()))

    @app.post("/v1/rounds/{name}/reveals")
    def reveal(request: Request, name: str, sent: Small) -> Response:
        return desk.signed(request, rounds.reveal(named(name), *sent, desk.clock()))


def _add_groups(app: FastAPI, desk: _Counter, watch: Watch) -> None:
    """Letters, questions, releases."""
    Small = Annotated[tuple[bytes, bytes], Depends(desk.small)]  # noqa: N806  (a type)
    Large = Annotated[tuple[bytes, bytes], Depends(desk.large)]  # noqa: N806  (a type)
    post = desk.post

    @app.post("/v1/letters")
    def send(request: Request, sent: Large) -> Response:
        return desk.signed(request, {"new": post.send(*sent, desk.clock())})

    @app.get("/v1/letters")
    def fetch(request: Request, sent: Small, after: int = 0) -> Response:
        if not 0 <= after < 1 << 62:
            raise PeerError("out-of-range", "letters after a number that no letter has")
        return desk.signed(request, post.fetch(sent[0], after))

    @app.post("/v1/groups/{name}/questions")
    def ask(request: Request, name: str, sent: Large) -> Response:
        answers = post.ask(sent[0], named(name), sent[1], desk.clock())
        watch.add("phi_queries", len(sent[1]) // RECORD_BYTES)
        return desk.signed(request, answers)

    @app.post("/v1/groups/{name}/releases")
    def deliver(request: Request, name: str, sent: Large) -> Response:
        return desk.signed(request, post.deliver(sent[0], named(name), sent[1], desk.clock()))
