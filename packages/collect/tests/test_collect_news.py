"""Requests that wait for news: told as soon as there is some, and nothing is lost between two looks."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from service_town import START_S, TERMS, seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.roles.wire import answer_digest
from shoal_collect.server.news import News
from shoal_collect.server.pools import Pools
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import Database

ME, OTHER = seed("me"), seed("other")


class Post:
    """A database with a mailbox of two people, and news about it."""

    def __init__(self, file: Path, now: list[float]) -> None:
        self.database, self.now = Database(file), now
        self.rounds = Rounds(self.database, TERMS, Chance(seed("names")).take, round_size=3, join_s=60)
        self.news = News(self.database, self.rounds, Pools(), lambda: self.now[0])
        self.looks = 0

    def write(self, owner: bytes, number: int, database: Database | None = None) -> None:
        row = (seed("s"), 0, 1, number, owner, b"letter", bytes(32), START_S)
        (database or self.database).change(
            "INSERT INTO letter (session, sender, receiver, number, owner, body, digest, at_s) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )

    async def letters(self, owner: bytes, wait_s: float, seen: bytes = b"") -> bytes:
        async def answer() -> bytes:
            self.looks += 1
            found = self.database.rows("SELECT body FROM letter WHERE owner = ? ORDER BY id", (owner,))
            return b"".join(bytes(row[0]) for row in found)

        return await self.news.wait_for(owner, wait_s, answer_digest(seen), answer)


def asked(file: Path, what: Callable[[Post], Awaitable[Any]]) -> Any:
    post = Post(file, [START_S])
    try:
        return asyncio.run(asyncio.wait_for(what(post), 20))
    finally:
        post.database.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "collect.sqlite"


def test_a_letter_of_another_process_ends_the_wait(file: Path) -> None:
    """Of those who wait, only whoever it is for is told, and nothing is lost to one who asks in between."""

    async def what(post: Post) -> None:
        assert await post.letters(ME, 0) == b"", "without a wait the answer comes at once"
        mine, others = (asyncio.create_task(post.letters(who, 30)) for who in (ME, OTHER))
        await asyncio.sleep(0.5)
        assert (post.news.n_waiting, mine.done()) == (2, False)
        looks = post.looks

        def elsewhere() -> None:
            with Database(file) as another:
                post.write(ME, 1, another)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        assert await mine == b"letter", "long before the 30 s, or all of this is given up"
        assert (others.done(), post.looks) == (False, looks + 1)
        assert await post.letters(ME, 10) == b"letter", "who knows less is told at once"
        post.news.release()
        assert await others == b"", "a server that stops lets everybody go"
        assert await post.letters(OTHER, 10) == b""
        assert post.news.n_waiting == 0
        thread.join()

    asked(file, what)


def test_a_letter_that_comes_while_nobody_looks_is_not_lost(file: Path) -> None:
    """Between the answer of a request and the first look of the watch that it starts."""

    async def what(post: Post) -> bytes:
        look = post.news.look

        def late() -> Any:
            if post.looks == 1:
                post.write(ME, 1)
            return look()

        post.news.look = late  # type: ignore[method-assign]
        return await post.letters(ME, 10)

    assert asked(file, what) == b"letter"


def test_a_round_that_moves_on_ends_the_wait(file: Path) -> None:
    """Also when nothing but time moves it."""

    async def what(post: Post) -> list[str]:
        name = bytes.fromhex(post.rounds.open_round(post.now[0])["round"])
        post.database.change(
            "INSERT INTO ticket (round, identity, signed, dropped) VALUES (1, ?, ?, 0)", (ME, ME)
        )
        post.database.change("UPDATE round SET phase = 'committing', deadline_s = ?", (START_S + 100,))

        async def phase() -> bytes:
            return str(post.rounds.view(name, None, post.now[0])["phase"]).encode()

        held = asyncio.create_task(post.news.wait_for(name, 10, answer_digest(b"committing"), phase))
        await asyncio.sleep(0.5)
        found = [str(held.done())]
        post.now[0] = START_S + 101
        return [*found, (await held).decode()]

    assert asked(file, what) == ["False", "failed"]


def test_waits_end_and_are_bounded(file: Path) -> None:
    async def what(post: Post) -> None:
        began = time.monotonic()
        assert await post.letters(ME, 0.3) == b""
        assert time.monotonic() - began > 0.25, "and not before"
        for wrong in (-1, 31, float("nan"), float("inf")):
            with pytest.raises(PeerError, match="out-of-range"):
                await post.letters(ME, wrong)

    asked(file, what)
