"""A new key of a server: devices follow what the old one has signed, and nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_line import Shoal
from service_town import PLACES, TERMS, identity_of, own_round_for, running, seed
from shoal.errors import InputError
from shoal_collect.cli.keys import read_file
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.connection import connect
from shoal_collect.device.disk import StateFolder
from shoal_collect.device.keys import follow_registrar
from shoal_collect.device.past import Past
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.roles.admission import TokenRequest
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.succession import (
    Role,
    Successor,
    find_predecessors,
    first_key,
    follow_succession,
    read_successors,
    sign_successor,
)
from shoal_collect.roles.terms import RegistrarTerms
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import Database
from shoal_collect.storage.migrations import AUTHORITY

NOW_S = 1_800_000_000
SEEDS = [seed("key", number) for number in range(4)]
KEYS = [identity_of(one) for one in SEEDS]


def step(old: int, new: int, role: Role = "collector", from_s: int = NOW_S, days: int = 30) -> Successor:
    return sign_successor(SEEDS[old], role, KEYS[new].hex(), from_s, days)


def followed(
    said: list[Successor], shown: int, before: tuple[Successor, ...] = (), now_s: float = NOW_S + 9
) -> int:
    """How many successors lead from key 0, or from where ``before`` has led, to a key."""
    known = bytes.fromhex(before[-1].new) if before else KEYS[0]
    return len(follow_succession("collector", known, KEYS[shown], said, before, now_s))


def test_a_device_follows_one_signed_key_after_the_other() -> None:
    chain = [step(0, 1), step(1, 2), step(2, 3)]
    assert followed([], 0) == 0
    assert [followed(chain, shown) for shown in range(4)] == [0, 1, 2, 3]
    assert followed(chain[::-1], 3) == 3, "in any order"
    assert followed(chain, 3, (chain[0],)) == 2
    assert [one.new for one in find_predecessors("collector", KEYS[3], chain)] == [one.new for one in chain]
    assert first_key("collector", KEYS[3], chain) == KEYS[0]
    assert first_key("collector", KEYS[3], [chain[0], chain[2]]) == KEYS[2]
    admitting = step(0, 1, "authority")
    assert len(follow_succession("registrar", KEYS[0], KEYS[1], [admitting], (), NOW_S)) == 1, (
        "it admits people, too"
    )


REFUSED: dict[str, tuple[list[Successor], int, tuple[Successor, ...], float]] = {
    "nothing is shown": ([], 1, (), NOW_S),
    "another key signed": ([step(1, 2)], 2, (), NOW_S),
    "a link is missing": ([step(0, 1), step(2, 3)], 3, (), NOW_S),
    "of another server": ([step(0, 1, "authority"), step(0, 1, "registrar")], 1, (), NOW_S),
    "not yet": ([step(0, 1, from_s=NOW_S + 400)], 1, (), NOW_S),
    "no longer": ([step(0, 1)], 1, (), NOW_S + 30 * 86_400),
    "rolled back": ([step(0, 1)], 0, (step(0, 1),), NOW_S),
    "rolled back by a signature": ([step(1, 0)], 0, (step(0, 1),), NOW_S),
    "in a circle": ([step(0, 1), step(1, 0)], 2, (), NOW_S),
    "doubled": ([step(0, 1), step(0, 2)], 1, (), NOW_S),
    "doubled after the first was followed": ([step(0, 2), step(1, 3)], 3, (step(0, 1),), NOW_S),
    "changed afterward": ([step(0, 1).model_copy(update={"new": KEYS[2].hex()})], 2, (), NOW_S),
    "prolonged afterward": ([step(0, 1).model_copy(update={"until_s": 1 << 39})], 1, (), NOW_S + 31 * 86_400),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_device_follows_nothing_else(why: str) -> None:
    said, shown, before, now_s = REFUSED[why]
    with pytest.raises(PeerError):
        followed(said, shown, before, now_s)


WRONG: tuple[object, ...] = (
    None,
    -1,
    2.5,
    "",
    "x",
    "0" * 63,
    "A" * 64,
    [],
    {},
    True,
    1 << 41,
    {"a": []},
    "collectors",
)


def test_what_is_no_successor_is_refused_by_name() -> None:
    good = step(0, 1)
    entry = good.model_dump()
    assert read_successors([entry]) == (good,)
    for wrong in (*WRONG[:6], entry, list(WRONG), [{}], [{**entry, "more": 1}], [entry] * 101):
        if wrong != []:
            with pytest.raises(PeerError, match=r"bad-frame|bad-length"):
                read_successors(wrong)
    for name in entry:
        for wrong in (one for one in (*WRONG, 7) if one != entry[name]):
            with pytest.raises(PeerError):  # where it can be read, the signature no longer holds
                followed(list(read_successors([{**entry, name: wrong}])), 1)


@contextmanager
def servers(database: Database, key: bytes, book: ClaimBook, *said: Successor) -> Iterator[tuple[str, str]]:
    """A collector and an authority that show these successors."""
    app = collector_application(
        database,
        key,
        TERMS,
        CollectorSettings(PLACES, round_size=3, join_s=60, quota=5, successors=said),
        Chance(key).take,
        quiet=True,
    )
    with (
        running(app) as collector,
        running(authority_application(book, quiet=True, successors=said)) as lawful,
    ):
        yield collector, lawful


def test_devices_follow_both_servers_and_give_up_an_old_round(shoal: Shoal, tmp_path: Path) -> None:
    """The commands make keys and statements; devices and the database accept them for good."""
    files: dict[str, tuple[bytes, bytes]] = {}
    for role in ("collector", "authority"):
        names = [tmp_path / f"{role}-{number}.key" for number in (1, 2)]
        names[0].write_text(seed(role).hex())
        arguments = ["collect", "successor", "--role", role, "--to", tmp_path / "successors.json"]
        assert shoal(*arguments, "--key", names[0], "--new-key", names[1]).code == 0
        files[role] = bytes.fromhex(names[0].read_text()), bytes.fromhex(names[1].read_text())
        again = shoal(*arguments, "--key", names[0], "--new-key", tmp_path / "third.key")
        assert (again.code, "names a successor of this key already" in again.err) == (2, True)
        back = shoal(*arguments, "--key", names[1], "--new-key", names[0])
        assert (back.code, "was used before" in back.err) == (2, True)
    said = read_file(tmp_path / "successors.json")
    old, new = files["collector"]
    known = frozenset(map(identity_of, (old, new)))
    books = [ClaimBook(Database(None, AUTHORITY), one, known) for one in files["authority"]]
    folder = StateFolder(tmp_path / "state", Past(tmp_path / "account"))
    heard: list[str] = []

    def meet(urls: tuple[str, str], of: StateFolder = folder) -> Device:
        there = connect(of, *urls, None, "u", Chance(seed("new device")).take, 0.0, heard.append)
        for server in there.servers.values():
            server.close()
        return there.state.device

    with Database(tmp_path / "collect.sqlite") as database:
        with servers(database, old, books[0]) as urls:
            first = meet(urls)
            kept = folder.load()
            assert kept is not None
            first.sent.append(((Cylinder(5, 6, 1, 1, 75),), 7))
            kept.device, kept.own_round = first, own_round_for(first, 0)
            folder.save(kept)
        with servers(database, new, books[1], *said) as urls:
            now = meet(urls)
            fresh = StateFolder(tmp_path / "another", Past(tmp_path / "account"))
            newcomer = meet(urls, fresh)
        assert now.server_key == identity_of(new)
        assert (now.authority_key.hex(), now.authority_signing_key.hex()) == tuple(books[1].facts.values())
        assert any("given up" in one for one in heard)
        kept = folder.load()
        assert kept is not None
        assert (kept.own_round, kept.device.sent, len(kept.device.followed)) == (None, first.sent, 2)
        past = Past(tmp_path / "account")
        assert list(past.of(now)[0]) == first.sent, "what was released under the old key is still hers"
        assert newcomer.device_key == now.device_key or list(past.of(newcomer)[1]) == first.sent
        assert first_key("collector", newcomer.server_key, newcomer.followed) == identity_of(old)
        with pytest.raises(InputError, match="belongs to the collector"), servers(database, old, books[0]):
            pass
    with (
        Database(tmp_path / "elsewhere.sqlite") as elsewhere,
        servers(elsewhere, old, books[0], *said) as urls,
        pytest.raises(InputError, match="shows another key"),
    ):
        meet(urls)


def test_people_stay_admitted_when_the_registrar_has_a_new_key() -> None:
    device = Device("u", seed("sign"), seed("device"), KEYS[3], bytes(32), bytes(32))
    device.registrar_key = KEYS[0]
    before = TokenRequest(device.device_key, KEYS[3], RegistrarTerms(url="http://r", key=KEYS[0].hex()))
    chain = [one.model_dump() for one in (step(0, 1, "registrar"), step(1, 2, "registrar"))]
    for key in (1, 2):
        follow_registrar(device, KEYS[key].hex(), {"successors": chain}, NOW_S)
        named = RegistrarTerms(url="http://r", key=KEYS[key].hex())
        after = TokenRequest(device.device_key, KEYS[3], named, device.account_key)
        assert after.account_seed == before.account_seed
        assert device.registrar_key == KEYS[key]
    with pytest.raises(InputError, match="another key"):
        follow_registrar(device, KEYS[0].hex(), {"successors": chain}, NOW_S)


def test_the_command_refuses_what_it_cannot_use(shoal: Shoal, tmp_path: Path) -> None:
    key, file = tmp_path / "a.key", tmp_path / "said.json"
    arguments = ["collect", "successor", "--role", "registrar", "--key", key, "--new-key"]
    missing = shoal(*arguments, tmp_path / "b.key", "--to", file)
    assert (missing.code, "is not there" in missing.err, file.exists()) == (2, True, False)
    key.write_text(seed("a").hex())
    assert "was used before" in shoal(*arguments, key, "--to", file).err
    for text in (
        "",
        "{",
        "[]",
        json.dumps({"format": "other"}),
        json.dumps({"format": "shoal successors", "version": 2}),
    ):
        file.write_text(text)
        refused = shoal(*arguments, tmp_path / "b.key", "--to", file)
        assert (refused.code, file.read_text()) == (2, text)
        with pytest.raises(InputError):
            read_file(file)
