"""Who takes part: persons with one token each, spent once, and rosters that everybody can check."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

import red_team_sybils
from command_line import Shoal
from service_town import PLACES, START_S, TERMS, Town, identity_of, kinds, running, seed
from shoal.errors import InputError
from shoal_collect.crypto.blind_signatures import PREFIX_BYTES, VerifyKey
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import RemoteServer, _keep_named
from shoal_collect.device.participation import request_entry
from shoal_collect.faults import PeerError, UnavailableError
from shoal_collect.matching.similarity import Scoping
from shoal_collect.roles.admission import (
    KEY_STATEMENT_BYTES,
    TOKEN_BYTES,
    Entry,
    Purpose,
    TokenRequest,
    areas_of,
    period_at,
    purpose_in,
    read_stated_key,
    require_token,
    split_entry,
    split_roster,
    tag_of,
)
from shoal_collect.roles.consent import describe_membership, describe_roster
from shoal_collect.roles.lottery import LotteryPart, commitment, read_lot, sign_lot
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.terms import RegistrarTerms, Terms
from shoal_collect.roles.wire import Call, Reply
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.registrar import (
    RegisterBook,
    Registrar,
    code_digest,
    registrar_application,
    write_code,
)
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import AUTHORITY, Database

pytestmark = pytest.mark.usefixtures("quick_mixes")

COLLECTOR = identity_of(seed("server"))
PERIOD = period_at(START_S, 1)
KEYS: dict[Any, Any] = {}  # of each registrar, which take a second to find
CODES = [write_code(seed("code", i)[:16]) for i in range(9)]


class Office:
    """A registrar with its book in memory."""

    def __init__(self, name: str, signing_seed: bytes | None = None) -> None:
        self.book = RegisterBook(Database(None, AUTHORITY))
        self.registrar = Registrar(self.book, seed(name), frozenset({COLLECTOR}), 1, signing_seed)
        self.registrar._keys = KEYS.setdefault((name, signing_seed), {})
        self.terms = RegistrarTerms(
            url="http://127.0.0.1:1", key=self.registrar.public_key.hex(), period=PERIOD
        )
        self.book.invite(map(code_digest, CODES))

    def entry(
        self, device_key: bytes, code: str = "", now_s: float = START_S, purpose: Purpose | None = None
    ) -> Entry:
        """What a device enters with, after both requests; or its credential of an area."""
        terms = self.terms.model_copy(update={"period": period_at(now_s, 1)})
        request = TokenRequest(device_key, COLLECTOR, terms, purpose)
        account = verify_key(request.account_seed)
        if code:
            self.registrar.admit(account, code)
        said = self.registrar.key_of(request.purpose, account, now_s)
        body = request.ask_for_token(said).body
        return request.entry(said, self.registrar.sign(request.purpose, account, body, now_s))

    def credentials(self, device_key: bytes, terms: Terms, now_s: float = START_S) -> dict[str, Entry]:
        """For all areas of the collection."""
        assert terms.registrar is not None
        areas = areas_of(PLACES, Scoping(terms.area_km, terms.period_days))
        purposes = {area: purpose_in(COLLECTOR, terms, terms.registrar, area) for area in areas}
        return {
            area: self.entry(device_key, now_s=now_s, purpose=purpose) for area, purpose in purposes.items()
        }


@pytest.fixture(scope="module")
def office() -> Office:
    """Four people are admitted."""
    made = Office("registrar")
    for number in range(4):
        made.entry(seed("device", number), CODES[number])
    return made


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as opened:
        yield opened


def terms_of(office: Office) -> Terms:
    return TERMS.model_copy(update={"registrar": office.terms})


def town_of(office: Office, database: Database, n: int = 3) -> Town:
    return Town(
        database,
        n,
        terms=terms_of(office),
        entry_of=lambda device: office.entry(device.device_key),
        credentials_of=lambda device: office.credentials(device.device_key, terms_of(office)),
    )


def test_people_with_tokens_share_under_keys_that_live_one_round(office: Office, database: Database) -> None:
    town = town_of(office, database)
    assert kinds(town.run()) == {"shared"}
    known = {bytes(row[0]) for row in database.rows("SELECT identity FROM ticket")}
    devices = {identity_of(own_round.device.signing_seed) for own_round in town.own_rounds.values()}
    assert len(known) == 3
    assert not known & devices, "no key of hers that lasts was seen"
    tomorrow = {office.entry(seed("device", i), now_s=START_S + 86_400).signing_seed for i in range(3)}
    assert not known & {verify_key(one) for one in tomorrow}, "and the next round's is another"
    assert [len(rows) for rows in (known, database.rows("SELECT * FROM spent"))] == [3, 3]
    credentials = [office.credentials(seed("device", i), terms_of(office)).values() for i in range(3)]
    tags = {bytes(row[0]) for row in database.rows("SELECT tag FROM contributor")}
    owned = [{tag_of(verify_key(one.signing_seed)) for one in of_one} for of_one in credentials]
    assert len(tags) == 3
    assert [len(tags & of_one) for of_one in owned] == [1, 1, 1], "of an area and a year"
    for own_round in town.own_rounds.values():
        assert own_round.group is not None
        assert own_round.group.n_roster == 3
        assert "3 people, with 3 different tokens" in describe_roster(own_round.group)
    held = everything_in(database)
    assert tags <= held, "what a thief finds"
    for device in (own_round.device for own_round in town.own_rounds.values()):
        assert (
            not {device.user, device.user.encode(), identity_of(device.signing_seed), device.device_key}
            & held
        )


def everything_in(database: Database) -> set[Any]:
    """Every value of every table."""
    tables = (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        if database.postgres
        else "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    rows = [row for (table,) in database.rows(tables) for row in database.rows(f'SELECT * FROM "{table}"')]
    return {bytes(value) if isinstance(value, memoryview) else value for row in rows for value in row}


def join(town: Town, round_name: bytes, entry: Entry, **changes: bytes) -> dict[str, Any]:
    """Bring an entry to a round of a town, perhaps changed."""
    parts = {"token": entry.token, "statement": entry.statement, **changes}
    text = town.rounds._load(round_name).terms.join_text(round_name)
    signed = signature(entry.signing_seed, b"join", text)
    identity = verify_key(entry.signing_seed)
    return town.rounds.join(round_name, identity, signed + parts["token"] + parts["statement"], town.now_s)


def flipped(text: bytes, at: int) -> bytes:
    return text[:at] + bytes((text[at] ^ 1,)) + text[at + 1 :]


@cache
def another_office() -> Office:
    other = Office("another registrar")
    other.entry(seed("device", 0), CODES[0])
    return other


def parts_of(entry: Entry) -> dict[str, bytes]:
    return {"token": entry.token, "statement": entry.statement}


WRONG: dict[str, tuple[Callable[[Office, Entry], dict[str, bytes]], str]] = {
    "none": (lambda _, __: {"token": b"", "statement": b""}, "not-entitled"),
    "cut": (lambda _, entry: {"token": entry.token[1:]}, "bad-length"),
    "too long": (lambda _, entry: {"statement": entry.statement + b"\0"}, "bad-length"),
    "changed prefix": (lambda _, entry: {"token": flipped(entry.token, 0)}, "bad-signature"),
    "changed signature": (lambda _, entry: {"token": flipped(entry.token, 400)}, "bad-signature"),
    "changed modulus": (lambda _, entry: {"statement": flipped(entry.statement, 5)}, "bad-signature"),
    "somebody else's": (lambda office, _: {"token": office.entry(seed("device", 1)).token}, "bad-signature"),
    "of tomorrow": (
        lambda office, _: parts_of(office.entry(seed("device", 0), now_s=START_S + 86_400)),
        "bad-signature",
    ),
    "of another registrar": (
        lambda _, __: parts_of(another_office().entry(seed("device", 0))),
        "bad-signature",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_token_that_does_not_admit_is_refused_by_name(
    office: Office, database: Database, what: str
) -> None:
    town, entry = town_of(office, database), office.entry(seed("device", 0))
    name = bytes.fromhex(town.rounds.open_round(town.now_s)["round"])
    change, kind = WRONG[what]
    with pytest.raises(PeerError) as caught:
        join(town, name, entry, **change(office, entry))
    assert caught.value.kind == kind
    assert database.rows("SELECT * FROM spent") == database.rows("SELECT * FROM ticket") == []
    assert join(town, name, entry)["members"] == 1


def test_a_token_admits_to_one_round(office: Office, tmp_path: Path) -> None:
    """Also after a new start, and for a second round that is open beside the first."""
    entry = office.entry(seed("device", 0))
    with Database(tmp_path / "collect.sqlite") as database:
        town = town_of(office, database)
        name = bytes.fromhex(town.rounds.open_round(town.now_s)["round"])
        join(town, name, entry)
        assert join(town, name, entry)["members"] == 1, "the same again changes nothing"
    with Database(tmp_path / "collect.sqlite") as database:
        town = town_of(office, database)
        other = open_second(database, terms_of(office))
        with pytest.raises(PeerError, match="spent for another round") as caught:
            join(town, other, entry)
        assert caught.value.kind == "duplicate"
        assert database.rows("SELECT COUNT(*) FROM ticket") == [(1,)]


def open_second(database: Database, terms: Terms) -> bytes:
    name = seed("second round")
    database.change(
        "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'joining', 0, ?)",
        (name, terms.model_dump_json(), START_S + 300),
    )
    return name


_JOIN = """
import sys
from shoal_collect.faults import PeerError
from shoal_collect.roles.terms import Terms
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import Database
file, terms, key, name, who, said = sys.argv[1:]
with Database(file) as database:
    rounds = Rounds(database, Terms.model_validate_json(terms), bytes, round_size=9, join_s=300,
                    collector_key=bytes.fromhex(key))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        rounds.join(bytes.fromhex(name), bytes.fromhex(who), bytes.fromhex(said), 1_800_000_000.0)
        print("joined")
    except PeerError as error:
        print(error.kind)
"""


def test_two_processes_cannot_both_spend_a_token(office: Office, tmp_path: Path) -> None:
    file, terms, entry = tmp_path / "collect.sqlite", terms_of(office), office.entry(seed("device", 0))
    with Database(file) as database:
        town = town_of(office, database)
        names = [bytes.fromhex(town.rounds.open_round(START_S)["round"]), open_second(database, terms)]
    processes = []
    for name in names:
        signed = signature(entry.signing_seed, b"join", terms.join_text(name))
        said = signed + entry.token + entry.statement
        values = (COLLECTOR, name, verify_key(entry.signing_seed), said)
        words = [str(file), terms.model_dump_json(), *(one.hex() for one in values)]
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", _JOIN, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for one in processes:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    ended = [one.communicate("go\n", timeout=60)[0].strip() for one in processes]
    assert sorted(ended) == ["duplicate", "joined"]


def test_who_got_no_group_uses_her_token_again_unless_she_was_silent(database: Database) -> None:
    """Three who were silent in turn ended every round, and kept their tokens for the next one."""
    office = Office("registrar")
    for number in range(6):
        office.entry(seed("device", number), CODES[number])
    town = town_of(office, database, 6)

    def silent_in_turn(number: int, call: Call) -> Call | None:
        restarts = database.rows("SELECT COALESCE(MAX(restarts), 0) FROM round")[0][0]
        is_silent = number >= 5 - restarts and call.target.endswith("/commits")
        return None if is_silent else call

    town.tamper = silent_in_turn
    assert {number: ending.kind for number, ending in town.run().items()} == dict.fromkeys(range(3), "alone")
    spent = {bytes(row[0]) for row in database.rows("SELECT identity FROM spent")}
    assert spent == {identity_of(town.own_rounds[i].entry.signing_seed) for i in (3, 4, 5)}
    name = bytes.fromhex(town.rounds.open_round(town.now_s)["round"])
    assert join(town, name, town.own_rounds[0].entry)["members"] == 1
    with pytest.raises(PeerError, match="duplicate: a token that was spent for another round"):
        join(town, name, town.own_rounds[3].entry)
    town.now_s += 86_400
    again = town.rounds.open_round(town.now_s)
    assert again["terms"]["registrar"]["period"] == PERIOD + 1, "a new period ends the round of the old one"
    assert again["round"] != name.hex()
    with pytest.raises(PeerError) as caught:
        join(town, bytes.fromhex(again["round"]), town.own_rounds[3].entry)
    assert caught.value.kind == "bad-signature", "yesterday's token"


def lottery_view(
    office: Office, phase: str, entries: list[Entry], lots: dict[bytes, bytes] | None = None
) -> dict[str, Any]:
    """What a collector may show: everybody's signature and token over one round."""
    terms, name = terms_of(office), bytes(32)
    return {
        "round": name.hex(),
        "phase": phase,
        "terms": terms.model_dump(),
        "restarts": 0,
        "roster": {
            verify_key(one.signing_seed).hex(): (
                signature(one.signing_seed, b"join", terms.join_text(name)) + one.token
            ).hex()
            for one in entries
        },
        "commits": {who.hex(): said.hex() for who, said in (lots or {}).items()},
        "reveals": {},
        "token_key": entries[0].statement.hex() if entries else "",
    }


def lottery_of(office: Office, entry: Entry) -> LotteryPart:
    part = LotteryPart(entry, COLLECTOR, terms_of(office), Chance(seed("lots", entry.signing_seed)))
    part.take_view(lottery_view(office, "joining", []))
    return part


def test_a_collector_that_shows_two_rosters_is_caught(office: Office) -> None:
    """Each commitment is signed over the roster that its member saw, and all see it before they reveal."""
    a, b, c, d = (office.entry(seed("device", i)) for i in range(4))
    me, other = lottery_of(office, a), lottery_of(office, b)
    lots = {}
    for part, entry, shown in ((me, a, [a, b, c]), (other, b, [a, b, d])):
        (call,) = part.take_view(lottery_view(office, "committing", shown))
        lots[verify_key(entry.signing_seed)] = call.body
    (call,) = lottery_of(office, c).take_view(lottery_view(office, "committing", [a, b, c]))
    lots[verify_key(c.signing_seed)] = call.body
    with pytest.raises(PeerError, match="two rosters"):
        me.take_view(lottery_view(office, "revealing", [a, b, c], lots))
    me, honest = lottery_of(office, a), lottery_of(office, b)
    me.take_view(lottery_view(office, "committing", [a, b, c]))
    (call,) = honest.take_view(lottery_view(office, "committing", [a, b, c]))
    sound = {**lots, verify_key(b.signing_seed): call.body}
    (call,) = me.take_view(lottery_view(office, "revealing", [a, b, c], sound))
    assert call.target.endswith("/reveals"), "the very same view, with one roster"


def test_a_collector_cannot_speak_for_a_member_in_the_lottery(office: Office) -> None:
    a, b, c = (office.entry(seed("device", i)) for i in range(3))
    me = lottery_of(office, a)
    (call,) = me.take_view(lottery_view(office, "committing", [a, b, c]))
    lots = {verify_key(a.signing_seed): call.body}
    for entry in (b, c):
        who = verify_key(entry.signing_seed)
        lot = commitment(bytes(32), who, seed("invented"))
        lots[who] = sign_lot(seed("collector's own"), b"commit", bytes(32), lot)
    with pytest.raises(PeerError, match="invents lots"):
        me.take_view(lottery_view(office, "revealing", [a, b, c], lots))


def test_a_collector_cannot_invent_people(office: Office) -> None:
    """Fifteen invented keys surrounded a victim before; each needs a token now."""
    victim = office.entry(seed("device", 0))
    puppets = [Entry(seed("puppet", i)) for i in range(15)]
    for tokens in (
        [b""] * 15,
        [bytes(TOKEN_BYTES)] * 15,
        [victim.token] * 15,
        [office.entry(seed("device", 1)).token] * 15,
    ):
        crowd = [replace(one, token=token) for one, token in zip(puppets, tokens, strict=True)]
        with pytest.raises(PeerError):
            lottery_of(office, victim).take_view(lottery_view(office, "committing", [victim, *crowd]))


def test_a_registrar_cannot_tell_people_apart_by_their_keys(office: Office) -> None:
    """Somebody whose key was stated for her alone finds it out before she commits to anything."""
    other = another_office()
    mine, theirs = office.entry(seed("device", 0)), other.entry(seed("device", 0))
    view = lottery_view(office, "committing", [mine, office.entry(seed("device", 1))])
    view["token_key"] = theirs.statement.hex()
    with pytest.raises(PeerError, match="tell people apart"):
        lottery_of(office, mine).take_view(view)


def test_the_collector_keeps_one_key_of_the_registrar_for_a_period(
    office: Office, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, first, second = town_of(office, database), *(office.entry(seed("device", i)) for i in range(2))
    name = bytes.fromhex(town.rounds.open_round(town.now_s)["round"])
    join(town, name, first)
    database.change("UPDATE token_key SET statement = ?", (flipped(first.statement, 3),))
    with pytest.raises(PeerError, match="second key of the registrar"):
        join(town, name, second)
    assert database.rows("SELECT COUNT(*) FROM spent") == [(1,)], "nothing of a refused request stays"


def test_nobody_but_members_sees_the_keys_of_a_round(office: Office, database: Database) -> None:
    town, entry = town_of(office, database), office.entry(seed("device", 0))
    name = bytes.fromhex(town.rounds.open_round(town.now_s)["round"])
    inside = join(town, name, entry)
    assert list(inside["roster"]) == [verify_key(entry.signing_seed).hex()]
    for identity in (None, seed("stranger")):
        outside = town.rounds.view(name, identity, town.now_s)
        assert "members" not in outside, "nor how many"
        assert outside["roster"] == outside["commits"] == outside["reveals"] == {}
        assert verify_key(entry.signing_seed).hex() not in str(outside)
    assert town.rounds.open_round(town.now_s)["roster"] == {}


def test_the_registrar_admits_persons_and_not_keys(office: Office) -> None:
    new = Office("strict registrar")
    person, other = (verify_key(seed("account", i)) for i in range(2))

    def key_of(collector: bytes, days: int, period: int) -> bytes:
        return new.registrar.key_of(Purpose(collector, days, period), b"", START_S)

    def sign(period: int, blinded: bytes) -> bytes:
        return new.registrar.sign(Purpose(COLLECTOR, 1, period), person, blinded, START_S)

    for act, kind in (
        (lambda: sign(PERIOD, bytes(383) + b"\2"), "not-entitled"),
        (lambda: new.registrar.admit(person, "1234"), "out-of-range"),
        (lambda: new.registrar.admit(person, "00" * 16), "not-entitled"),
        (lambda: key_of(seed("unknown"), 1, PERIOD), "not-entitled"),
        (lambda: key_of(COLLECTOR, 2, PERIOD // 2), "not-entitled"),
        (lambda: key_of(COLLECTOR, 1, PERIOD + 1), "too-late"),
        (lambda: key_of(COLLECTOR, 1, PERIOD - 31), "too-late"),
        (lambda: sign(PERIOD - 1, bytes(384)), "too-late"),
    ):
        with pytest.raises(PeerError) as caught:
            act()
        assert caught.value.kind == kind
    new.registrar.admit(person, CODES[0])
    new.registrar.admit(person, CODES[0].replace("-", ""))  # the same again
    new.registrar.admit(person, CODES[1])  # which stays open
    with pytest.raises(PeerError, match="has been used"):
        new.registrar.admit(other, CODES[0])
    new.registrar.admit(other, CODES[1])
    assert new.book.counts() == {"persons": 2, "open_invitations": 7, "tokens_issued": 0}


def test_a_person_gets_one_token_in_a_period(office: Office) -> None:
    device_key = seed("device", 0)
    entry = office.entry(device_key)
    assert office.entry(device_key) == entry, "a lost reply is asked for again"
    request = TokenRequest(device_key, COLLECTOR, office.terms)
    account = verify_key(request.account_seed)
    another = int.from_bytes(entry.token[PREFIX_BYTES:]).to_bytes(384)
    with pytest.raises(PeerError) as caught:
        office.registrar.sign(request.purpose, account, another, START_S)
    assert caught.value.kind == "duplicate"
    with pytest.raises(PeerError, match="bad-length"):
        office.registrar.sign(request.purpose, account, b"\xff" * 384, START_S)
    said = office.registrar.key_of(request.purpose, account, START_S)
    for bad in (said[:-1], said[:KEY_STATEMENT_BYTES], flipped(said, 0), flipped(said, len(said) - 1)):
        with pytest.raises(PeerError):
            request.ask_for_token(bad)
    assert office.entry(device_key, now_s=START_S + 86_400) != entry


def test_a_clock_that_leaps_and_is_set_right_gives_nobody_a_second_token() -> None:
    book, person = RegisterBook(Database(None, AUTHORITY)), seed("person")

    def issues(to: bytes, days: float, asked: bytes) -> bool:
        now_s = START_S + 86_400 * days
        return book.issue(Purpose(COLLECTOR, 1, period_at(now_s, 1)), to, asked, now_s)

    assert issues(person, 0, seed("first"))
    assert issues(seed("another"), 3, seed("ahead")), "three days ahead, by mistake"
    assert not issues(person, 0, seed("second"))
    assert all(issues(person, hours / 24, seed("day")) for hours in range(24, 96, 8))
    assert book.counts()["tokens_issued"] == 3, "what is over is forgotten while the clock goes evenly"


class Restarted(RemoteServer):
    """The way to a registrar that starts anew: away, its database away, an answer lost on its way back."""

    troubles = 3

    def send(self, call: Call, device: Device, now_s: float, signing_seed: bytes | None = None) -> Reply:
        self.troubles -= 1
        if self.troubles == 2:
            raise UnavailableError("it does not answer")
        if self.troubles == 1:
            return Reply(503, b'{"error": "unavailable", "message": "the database does not answer"}')
        reply = super().send(call, device, now_s, signing_seed)
        if self.troubles == 0:
            raise UnavailableError("it does not answer: its answer was lost")
        return reply


def test_a_device_is_admitted_over_the_network(tmp_path: Path) -> None:
    """By the authority that is also the registrar; by the clock of the system."""
    book = ClaimBook(Database(None, AUTHORITY), seed("authority"), frozenset({COLLECTOR}))
    office = Office("registrar over http", book.signing_seed)
    app = authority_application(book, quiet=True, registrar=office.registrar, clock=lambda: START_S)
    device = Device("u", seed("sign", 0), seed("device", 7), COLLECTOR, bytes(32), bytes(32))
    with running(app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal_collect.device.participation.time.time", lambda: START_S)
        server = RemoteServer(url, key=office.registrar.public_key)
        with pytest.raises(InputError, match="this registrar has not admitted the account") as caught:
            request_entry(server, device, office.terms, None)
        assert device.device_key.hex() not in str(caught.value)
        with pytest.raises(InputError, match="32 hexadecimal digits"):
            request_entry(server, device, office.terms, "1-2-3")
        entry = request_entry(server, device, office.terms, CODES[3])
        assert len(entry.token) == TOKEN_BYTES
        assert request_entry(server, device, office.terms, None) == entry
        restarted = Restarted(url, key=office.registrar.public_key)
        told: list[str] = []
        assert request_entry(restarted, device, office.terms, None, told.append, patience_s=60) == entry
        assert told == ["the registrar does not answer yet; trying again for 1 min"]
        restarted.troubles = 3
        with pytest.raises(InputError, match="does not answer"):
            request_entry(restarted, device, office.terms, None)
        restarted.close()
        stranger = replace(device, device_key=seed("device", 8))
        with pytest.raises(InputError, match="does not exist, or that has been used"):
            request_entry(server, stranger, office.terms, CODES[3])
        imposter = RemoteServer(url, key=seed("imposter"))
        with pytest.raises(InputError, match="does not hold"):
            request_entry(imposter, device, office.terms, None)
        for one in (server, imposter):
            one.close()
    with pytest.raises(InputError, match="does not answer"):
        request_entry(RemoteServer("http://127.0.0.1:1", key=bytes(32)), device, office.terms, None)
    assert registrar_application(office.registrar, office.book, quiet=True).title == "shoal registrar"


def test_consent_says_who_can_be_in_a_group(office: Office) -> None:
    assert "under as many names as she likes" in describe_membership(None, 4)
    said = describe_membership(office.terms, 12)
    assert "one token a person a day" in said
    assert "at least 12 people" in said
    assert office.registrar.public_key.hex() in said
    assert "in 7 days" in describe_membership(office.terms.model_copy(update={"days": 7}), 4)


def test_invitations_at_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, url = Shoal(capsys), f"sqlite:///{tmp_path / 'registrar.sqlite'}"
    base = ("collect", "registrar", "--database", url)
    codes = command(*base, "--invite", 3).out.split()
    assert len({code_digest(code) for code in codes}) == 3
    listed = tmp_path / "file"
    listed.touch()
    with Database(url, AUTHORITY) as database:
        assert RegisterBook(database).counts() == {
            "persons": 0,
            "open_invitations": 3,
            "tokens_issued": 0,
        }
        assert not any(
            code.replace("-", "") in str(database.rows("SELECT * FROM invitation")) for code in codes
        )
    for words, message in (
        (base, "--collector-key"),
        ((*base, "--collector-key", "xyz"), "64 hexadecimal digits"),
        ((*base, "--invite", 0), "--invite"),
        ((*base, "--invite", 1, "--port", 1), "--port has no effect beside --invite"),
        (
            ("collect", "authority", *base[2:], "--token-days", 2),
            "--token-days has no effect without --admit",
        ),
        (
            ("collect", "authority", *base[2:], "--identifiers-of", "a", "--port", 1),
            "with which no server runs",
        ),
        (
            ("collect", "server", *base[2:], "--places", listed, "--token-days", 2),
            "no effect without --registrar",
        ),
        (("collect", "mine", "--state", tmp_path, "--ca", listed), "--ca has no effect without --server"),
    ):
        ended = command(*words)
        assert ended.code == 2
        assert message in ended.err
        assert "Traceback" not in ended.err


def test_rounds_without_a_registrar_take_no_token(office: Office, database: Database) -> None:
    rounds = Rounds(database, TERMS, Chance(seed("n")).take, round_size=3, join_s=9, collector_key=COLLECTOR)
    name = bytes.fromhex(rounds.open_round(START_S)["round"])
    entry = office.entry(seed("device", 0))
    signed = signature(entry.signing_seed, b"join", TERMS.join_text(name))
    who = verify_key(entry.signing_seed)
    with pytest.raises(PeerError, match="bad-signature"):
        rounds.join(name, who, signed + entry.token + entry.statement, START_S)
    assert rounds.join(name, who, signed, START_S)["members"] == 1


def test_a_device_keeps_to_the_registrar_that_it_was_shown(office: Office, tmp_path: Path) -> None:
    """A collector that wants to be everybody else would leave the registrar out, or name one of its own."""
    folder = StateFolder(tmp_path)
    kept = DeviceState(Device("u", seed("sign", 0), seed("device", 0), COLLECTOR, bytes(32), bytes(32)))
    _keep_named(folder, kept, TERMS)
    assert kept.device.registrar_key is None, "one that comes later is welcome"
    _keep_named(folder, kept, terms_of(office))
    later = folder.load()
    assert later is not None
    assert later.device.registrar_key == office.registrar.public_key
    _keep_named(folder, later, terms_of(office))
    for terms in (TERMS, terms_of(another_office())):
        with pytest.raises(InputError, match="no longer names the registrar"):
            _keep_named(folder, later, terms)


@given(body=st.binary(max_size=1000), length=st.sampled_from([0, 64, 96, 416, 448, 928, 3520]))
def test_random_bytes_are_refused_by_name(body: bytes, length: int) -> None:
    """In the place of an entry, a token, a statement, a lot, an answer of the registrar, an invitation."""
    said = (body * 4000)[:length] if body else bytes(length)
    terms = RegistrarTerms(url="http://a", key=identity_of(seed("registrar's")).hex(), period=PERIOD)
    request = TokenRequest(seed("device", 0), COLLECTOR, terms)
    key = VerifyKey(mpz(1) << 3071 | 1)
    for parse in (
        lambda: split_roster(said + b"\0", admitted=True),
        lambda: require_token(key, COLLECTOR, said),
        lambda: read_stated_key(COLLECTOR, request.purpose, said),
        lambda: read_lot(COLLECTOR, b"commit", bytes(32), said),
        lambda: request.ask_for_token(said),
        lambda: request.entry(said, said),
        lambda: code_digest(said.decode("latin-1") + "x"),
    ):
        with pytest.raises(PeerError):
            parse()
    try:
        parts = split_entry(said, admitted=True)
    except PeerError:
        return
    assert [len(one) for one in parts] == [64, TOKEN_BYTES, KEY_STATEMENT_BYTES]


def test_a_short_run_of_the_attacks_of_a_collector_that_plays_everybody_else() -> None:
    """The same code as in the bench, whose long run stands in the docs."""
    found = red_team_sybils.attacks(3)
    refused = {name for name, one in found.items() if one.refused == 1.0}
    assert len(refused) == 5
    assert all("invented" in name or "nobody else" in name or name == "two rosters" for name in refused)
    won = {name for name, one in found.items() if one.isolated == 1.0}
    assert {"no registrar, 15 invented", "registrar, 3 accomplices and nobody else"} <= won


def test_groups_are_drawn_from_as_many_people_as_the_terms_say(database: Database) -> None:
    """The server waits for them, and gives a round up when too few are left."""
    terms = TERMS.model_copy(update={"least_roster": 5})
    rounds = Rounds(database, terms, Chance(seed("n")).take, round_size=3, join_s=100)
    name = bytes.fromhex(rounds.open_round(START_S)["round"])
    phases = []
    for number in range(5):
        member = seed("sign", number)
        text = terms.join_text(name)
        rounds.join(name, identity_of(member), signature(member, b"join", text), START_S)
        later_s = 150 if number < 4 else 50  # the time to join is over after 100
        phases.append(rounds.view(name, None, START_S + later_s)["phase"])
    assert phases == [*["joining"] * 4, "committing"]
    assert rounds.view(name, None, START_S + 500)["phase"] == "failed", "nobody committed"
