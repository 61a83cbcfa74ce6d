"""Somebody takes part on pages, in a real browser: from a GPX file to a release, and its deletion.

The collector's page for people is looked at on the way.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from browser import Browser, Tab
from service_town import PLACES, TERMS, identity_of, running, seed
from shoal.errors import InputError, MisuseError
from shoal.local_pages.guard import HOST, Keys, Site
from shoal_collect.app.app import participant_application
from shoal_collect.app.person import Addresses, Person
from shoal_collect.device import participation
from shoal_collect.device.disk import StateFolder
from shoal_collect.device.http_client import connect
from shoal_collect.device.profile import profile_of
from shoal_collect.device.proposal import movement_of, prepare
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import AUTHORITY, Database
from test_participant import GPX

WIDTHS = (1280, 390)
SENTENCES = TERMS.model_copy(update={"controller": "City of Northport", "phase_limit_s": 60})
SETTINGS = {"k": 0, "blur": {"radius": "500m", "gap": "15min"}}


def track(second: int) -> str:
    """Three points, 20 minutes apart, seconds away from those of others."""
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
    rows = [
        f'<trkpt lat="{39.9 + 0.02 * i:.4f}" lon="116.3"><time>{day}T08:{20 * i:02}:{second:02}Z'
        "</time></trkpt>"
        for i in range(3)
    ]
    return GPX.format(points="\n".join(rows))


@dataclass
class Town:
    """Where the servers of a test are."""

    collector: str
    authority: str


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    with (
        Database(f"sqlite:///{folder / 'c.sqlite'}") as database,
        Database(f"sqlite:///{folder / 'a.sqlite'}", AUTHORITY) as register,
    ):
        book = ClaimBook(register, seed("authority"), frozenset({identity_of(seed("server"))}))
        with running(authority_application(book, quiet=True)) as authority:
            app = collector_application(
                database,
                seed("server"),
                SENTENCES,
                CollectorSettings(PLACES, round_size=3, join_s=600, authority=authority),
                os.urandom,
                quiet=True,
            )
            with running(app) as collector:
                yield Town(collector, authority)


@contextmanager
def open_app(folder: Path, town: Town) -> Iterator[tuple[Person, str]]:
    """The app of somebody, and the address to enter by."""
    keys = Keys.fresh()
    person = Person(StateFolder(folder), Addresses(town.collector, town.authority, poll_s=0.05, patience_s=5))
    app: Any = participant_application(person, keys, Site(cookie="shoal-app"))
    with running(app) as url:
        assert url.startswith(f"http://{HOST}:")
        yield person, f"{url}/{keys.prefix}/enter?token={keys.token}"


def neighbor(number: int, folder: Path, town: Town, endings: dict[int, str]) -> None:
    """Somebody else takes part from the command line's code."""
    from shoal.io import read

    (folder / f"{number}.gpx").write_text(track(number))
    state = StateFolder(folder / f"state {number}")
    there = connect(state, town.collector, town.authority, None, f"n {number}", os.urandom)
    movement = movement_of(read(str(folder / f"{number}.gpx"), snap=False), None, 1, 1800)
    participation.begin(there, prepare(there, movement, profile_of(SETTINGS)), os.urandom)
    ending, _ = participation.finish(state, there, lambda _: None, 0.05, 30)
    endings[number] = ending.kind
    for server in there.servers.values():
        server.close()


class Look(Tab):
    """Who takes part."""

    def at(self, name: str, *, checked: bool = False) -> None:
        """Look at both widths, light and dark; checked: by the accessibility checker, too."""
        for width, scheme in zip(WIDTHS, ("light", "dark"), strict=True):
            self.page.emulate_media(color_scheme=scheme)
            self.look(name, width)
        if checked:
            checker = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
            found = checker.Axe().run(self.page).response["violations"]
            self.complaints += [f"{name}: {one['id']} {one['nodes'][0]['html']}" for one in found]


def test_from_a_file_to_a_release_and_its_deletion(browser: Browser, town: Town, tmp_path: Path) -> None:
    (tmp_path / "ride.gpx").write_text(track(0))
    look = Look(browser)
    page = look.page
    endings: dict[int, str] = {}
    others = [threading.Thread(target=neighbor, args=(n, tmp_path, town, endings)) for n in (1, 2)]
    page.goto(town.collector)
    look.at("the collector's page", checked=True)
    told = page.inner_text("main")
    with open_app(tmp_path / "state", town) as (person, entry):
        page.goto(entry)
        page.wait_for_url("**/trip")
        page.set_input_files("#f-file", str(tmp_path / "ride.gpx"))
        page.click("text=Read it >> visible=true")
        page.wait_for_selector("#trips")
        look.at("trips")
        page.click('button[value="pick"]')
        page.wait_for_selector("#consent")
        assert person.plan is not None
        assert (person.plan.profile.k, "2 other people shared" in page.inner_text("#consent")) == (2, True)
        page.fill("#f-k", "0")
        page.fill("#f-gap", "15min")
        page.click('button[value="look"]')
        page.wait_for_selector(".verdict.bare")
        look.at("the consent", checked=True)
        assert (page.locator("#before .at").count(), page.locator("#after .blurred").count()) == (3, 3)
        consent = page.inner_text("#consent")
        page.click('button[value="agree"]')
        assert "tick the box" in page.inner_text("#refused")
        page.check("input[name=agreed]")
        page.click('button[value="agree"]')
        page.wait_for_selector("#running")
        look.at("the round")
        for other in others:
            other.start()
        page.wait_for_selector("#ended")
        look.at("the end")
        assert "Done. The collector stores" in page.inner_text("#ended")
        page.click("#ended a")
        page.click('button[value="fetch"]')
        page.wait_for_selector("#fetched")
        assert page.locator("#fetched tbody tr").count() == 3
        page.click('button[value="delete"]')
        page.wait_for_selector("#deleted")
        look.at("my releases", checked=True)
        receipt = page.inner_text("#deleted code")
        kept = person.state()
    for other in others:
        other.join()
    page.close()
    assert look.wide == []
    assert [one for one in look.complaints if "422" not in one] == []
    places = {urlsplit(url).netloc for url in look.requests if not url.startswith("data:")}
    assert places == {urlsplit(entry).netloc, urlsplit(town.collector).netloc}
    assert "City of Northport" in told
    assert town.authority in told
    assert "City of Northport" in consent
    assert endings == {1: "shared", 2: "shared"}
    assert kept is not None
    assert [(one.withdrawn or b"").hex() for one in kept.device.owned] == [receipt]
    assert {one.name for one in (tmp_path / "state").iterdir()} == {
        "state.json",
        "round-1.json",
    }


def begun(folder: Path, town: Town) -> Person:
    """Somebody who has looked at her trip."""
    at = Addresses(town.collector, town.authority, poll_s=0.02, patience_s=20)
    person = Person(StateFolder(folder), at)
    person.take_files([("ride.gpx", track(9).encode())])
    person.pick(1)
    person.look(SETTINGS)
    return person


def has_joined(person: Person) -> bool:
    """Whether her device is about to join, or has; a later look waits for news."""
    state = person.state()
    return state is not None and state.own_round is not None and bool(state.own_round._lottery._round)


def test_she_leaves_before_anything_of_hers_is_sent(town: Town, tmp_path: Path) -> None:
    person = begun(tmp_path / "state", town)
    with pytest.raises(InputError, match="has changed meanwhile"):
        person.agree("another plan", "")
    person.agree(person.seen(), "")
    with pytest.raises(InputError, match="a round is under way"):
        person.look()
    until = time.monotonic() + 20
    while not has_joined(person) and time.monotonic() < until:
        time.sleep(0.02)
    assert has_joined(person)
    assert (person.running, person.may_leave, person.phase) == (True, True, "lottery")
    person.leave()
    assert person.ending is not None
    assert (person.ending.kind, person.running, person.waiting()) == ("left", False, False)
    noted = json.loads((tmp_path / "state" / "round-1.json").read_text())
    assert (noted["ending"], noted["released"]["points"]) == ("left", [])
    kept = person.state()
    assert kept is not None
    assert (kept.own_round, kept.device.sent, kept.rounds) == (None, [], 1)
    with pytest.raises(MisuseError, match="too late to leave"):
        person.leave()


def test_a_round_outlives_the_app(town: Town, tmp_path: Path) -> None:
    """The app ends in the middle; the next one goes on, says when the collector is away, and may leave."""
    first = begun(tmp_path / "state", town)
    first.at = Addresses(town.collector, "http://127.0.0.1:1")
    assert first.plan is not None
    there = connect(first.folder, town.collector, town.authority, None, "me", os.urandom)
    participation.begin(there, first.plan, os.urandom)
    first.folder.save(there.state)
    for server in there.servers.values():
        server.close()
    later = Person(first.folder, Addresses("http://127.0.0.1:1", town.authority, patience_s=0.1))
    assert (later.waiting(), later.running) == (True, False)
    with pytest.raises(InputError, match="does not answer"):
        later.go_on()
    with pytest.raises(InputError, match="a round is under way"):
        later.take_back("0" * 32)
    later.at = Addresses(town.collector, town.authority, poll_s=0.02)
    later.go_on()
    assert later.running
    later.leave()
    assert (later.waiting(), later.ending is not None) == (False, True)
