"""The collector's page for people: its sentences, its headers, its width, and what it does not say."""

import re
import sqlite3
import threading
from html import unescape
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from service_town import PLACES, START_S, TERMS, identity_of, running, seed
from shoal_collect.roles.consent import OPEN, SHARED, describe_collector, describe_terms
from shoal_collect.roles.terms import RegistrarTerms, Terms
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.people_page import PeoplePage, round_in_words
from shoal_collect.storage.database import Database

STATED = TERMS.model_copy(
    update={
        "controller": "City of <Northport>",
        "purpose": "Plan the night bus.",
        "registrar": RegistrarTerms(url="https://registrar.example", key="ab" * 32),
    }
)
STANDING = {"deadline_s": START_S, "terms": STATED.model_dump(), "roster": {"aa" * 32: "bb"}}


class Round:
    """An open round that counts how often somebody looks."""

    def __init__(self) -> None:
        self.looks = 0
        self.error: Exception | None = None

    def __call__(self, now_s: float) -> dict[str, Any]:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return dict(STANDING)


def page_of(found: Round, authority: str = "") -> PeoplePage:
    return PeoplePage(bytes(32), found, 16, authority, (sqlite3.OperationalError,))


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def test_it_says_what_the_consent_says() -> None:
    text = text_of(bytes(page_of(Round()).at(START_S, STATED).body).decode())
    said = [*describe_collector(STATED), *SHARED, *describe_terms(STATED), *OPEN]
    assert len(said) > 15
    assert [line for line in said if line not in text] == []
    assert "ADDRESS-OF-THE-AUTHORITY" in text
    assert "https://authority.example" in text_of(
        bytes(page_of(Round(), "https://authority.example").at(START_S, STATED).body).decode()
    )


def test_it_says_nothing_of_persons_and_asks_for_nothing() -> None:
    response = page_of(Round()).at(START_S, STATED)
    html = bytes(response.body).decode()
    assert "aa" * 8 not in html
    assert "City of &lt;Northport&gt;" in html
    assert not re.search(r"<script|<form|<img|<link rel=\"(?!icon)|\bsrc=|@import|url\(|set-cookie", html)
    assert response.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "set-cookie" not in response.headers


def test_a_flood_of_visitors_looks_at_the_database_once() -> None:
    found = Round()
    page = page_of(found)
    for visit in range(100):
        page.at(START_S + visit / 100, STATED)
    assert found.looks == 1
    page.at(START_S + 6, STATED)
    page.at(START_S - 100, STATED)  # the clock was set back
    page.at(START_S - 100, Terms())
    assert found.looks == 4


def test_a_slow_database_holds_up_one_visitor() -> None:
    found, going = Round(), threading.Event()
    page = page_of(found)
    page.at(START_S, STATED)
    slow = found.__call__

    def held(now_s: float) -> dict[str, Any]:
        assert going.wait(10)
        return slow(now_s)

    page._open_round = held
    first = threading.Thread(target=page.at, args=(START_S + 60, STATED))
    first.start()
    while not page._lock.locked():
        pass
    html = bytes(page.at(START_S + 60, STATED).body).decode()
    assert found.looks == 1
    going.set()
    first.join()
    assert found.looks == 2
    assert "A round is open" in html


def test_a_database_that_is_away_is_said() -> None:
    found = Round()
    found.error = sqlite3.OperationalError("away")
    html = bytes(page_of(found).at(START_S, STATED).body).decode()
    assert "nobody can say how far the round is" in text_of(html)


def test_a_round_in_words() -> None:
    """How many have joined is nobody's but their own: who watches the page would see each come."""
    said = round_in_words({"deadline_s": 0.0}, 16, 4)
    assert "It starts when 16 people have joined. From 1970-01-01 00:00 (UTC) on it starts with 4" in said


def test_the_collector_serves_it(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'c.sqlite'}") as database:
        app = collector_application(
            database,
            seed("server"),
            STATED,
            CollectorSettings(PLACES, round_size=16, join_s=60),
            seed,
            quiet=True,
        )
        with running(app) as url, urlopen(url) as reply:
            assert reply.headers["content-type"] == "text/html; charset=utf-8"
            text = text_of(reply.read().decode())
    assert "A round is open. It starts when" in text
    assert identity_of(seed("server")).hex() in text
