"""Whole rounds over the service's own parts, in one process.

Restarts, lost replies, people who vanish, servers that lie.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from collect_history import check_round
from service_town import (
    SCOPING,
    TERMS,
    TODAY,
    WAY,
    Town,
    identity_of,
    kinds,
    own_round_for,
    seed,
    through_disk,
    volunteers,
)
from shoal.cli.documents import documents
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.sealing import address
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.device.disk import DeviceState, StateFolder, state_text
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import Release, encode_release
from shoal_collect.matching.similarity import scoped_tag
from shoal_collect.roles.wire import ANSWER_BYTES, BODY_BYTES, DAY_S, Call, Reply, bundles, unbundle
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import StoredReleases
from shoal_collect.storage.phi import PhiStore

pytestmark = pytest.mark.usefixtures("quick_mixes")


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as opened:
        yield opened


def test_everybody_shares_though_servers_and_devices_start_anew_before_every_request(
    database: Database,
) -> None:
    town = Town(database, 3, restart=True)

    def anew(number: int) -> None:
        town.own_rounds[number] = through_disk(town.own_rounds[number])

    endings = town.run(after_step=anew)
    assert kinds(endings) == {"shared"}, endings
    assert town.n_records == 3
    held = StoredReleases(database)
    for number, one in endings.items():
        assert town.book.identifiers_of(f"user {number}") == [one.identifier]
        (own,) = town.own_rounds[number].device.owned
        assert own.identifier == one.identifier
        assert held.owned(own.identifier, verify_key(own.claim_seed)).points == one.released


def test_every_request_may_be_lost_after_it_was_carried_out(database: Database) -> None:
    """As after a kill between request and reply.

    The device goes on from what it kept before, and asks again.
    """
    town = Town(database, 3)
    endings = town.run_losing_every_first_reply()
    assert kinds(endings) == {"shared"}, endings
    assert town.n_records == 3
    assert {one.identifier for one in endings.values()} == {
        row[0] for row in database.rows("SELECT identifier FROM record")
    }


def test_what_is_stored_had_the_crowd_that_its_owner_asked_for(database: Database, tmp_path: Path) -> None:
    volunteers(PhiStore(database), 2, TODAY - 1)
    volunteers(PhiStore(database), 9, TODAY)  # too late for today's snapshot
    terms = TERMS.model_copy(update={"n_real": 6, "n_pieces": 2})
    town = Town(database, 3, terms=terms)
    elsewhere = Point(48.8, 2.3, WAY[-1].t_min + 60)
    for number, own_round in town.own_rounds.items():
        town.own_rounds[number] = own_round_for(
            own_round.device, 2 if number < 2 else 3, [*WAY, elsewhere], terms=terms
        )
    endings = town.run()
    assert [endings[i].kind for i in range(3)] == ["shared", "shared", "nothing-left"], endings
    n = 0
    for number in (0, 1):
        assert len(endings[number].places_kept) == 3, "where nobody else has been is not released"
        folder, device = StateFolder(tmp_path / str(number)), town.own_rounds[number].device
        file = folder.write_ending(DeviceState(device), endings[number])
        noted = TypeAdapter(documents()["collect-join"]).validate_json(file.read_text())
        first = Cylinder(*noted["released"]["points"][0])
        own = scoped_tag(SCOPING.scope_of(first), device.device_key)
        n += check_round(database, noted, own, 2, terms.thresholds)
        with pytest.raises(AssertionError, match="others share"):
            check_round(database, noted, own, 3, terms.thresholds)
    assert n == 6, "three pairs each"


def test_days_later_her_own_release_is_taken_off_her_counts(database: Database) -> None:
    volunteers(PhiStore(database), 3, TODAY - 1)
    town = Town(database, 3)
    assert kinds(town.run()) == {"shared"}
    for number, own_round in town.own_rounds.items():
        town.own_rounds[number] = own_round_for(own_round.device, 5, name="again")
    town.now_s += DAY_S
    endings = town.run()
    assert kinds(endings) == {"shared"}, endings
    assert {phi for one in endings.values() for phi in one.checked.values()} == {5}, (
        "three volunteers and two others"
    )


LOTTERY = ("before committing", "before revealing")
MIXES = ("in the first mix", "in the second mix")
VANISH: dict[str, Callable[[Call], bool]] = {
    "before committing": lambda call: call.target.endswith("/commits"),
    "before revealing": lambda call: call.target.endswith("/reveals"),
    "in the first mix": lambda call: call.target == "/v1/letters" and address(unbundle(call.body)[0])[3] == 2,
    "before asking": lambda call: call.target.endswith("/questions"),
    "in the second mix": lambda call: (
        call.target == "/v1/letters" and address(unbundle(call.body)[0])[3] == 9
    ),
    "before delivering": lambda call: call.target.endswith("/releases"),
    "before claiming": lambda call: call.target == "/v1/claims",
}


@pytest.mark.parametrize("when", VANISH)
def test_somebody_vanishes(database: Database, when: str) -> None:
    town = Town(database, 4 if when in (*LOTTERY, *MIXES) else 3)

    def vanish(number: int, call: Call) -> Call | None:
        if number == 1 and VANISH[when](call):
            town.gone.add(1)
            return None
        return call

    town.tamper = vanish
    endings = town.run()
    assert town.gone == {1}
    assert set(endings) == set(town.own_rounds) - {1}, "nobody waits for ever"
    if when in LOTTERY:
        assert kinds(endings) == {"shared"}, "the lottery started again without her"
        assert town.n_records == 3
    elif when in MIXES:
        assert kinds(endings) == {"shared"}, "the others mixed again without her"
        assert town.n_records == 3
    elif when in ("before delivering", "before claiming"):
        assert kinds(endings) == {"shared"}, "more than half of the group is enough"
        assert town.n_records == 3
    else:
        assert kinds(endings) == {"failed"}, endings
        assert town.n_records == 0, "nothing is stored"
        assert all("too-late" in one.message for one in endings.values())
    if when == "before asking":  # the next member asked in her place, so that the second mix was begun
        assert (
            sum(call.target.endswith("/questions") and reply.status == 200 for _, call, reply in town.calls)
            == 3
        )


def test_nobody_is_late_while_the_collector_is_away(database: Database) -> None:
    """An hour without the collector, or a clock that jumps by one, in each of these moments."""
    town = Town(database, 3)
    moments = ["before committing", "in the first mix", "before asking", "in the second mix"]

    def away(number: int, call: Call) -> Call | None:
        if number or not moments or not VANISH[moments[0]](call):
            return call
        del moments[0]
        town.now_s += 3600
        town.rounds.resume(town.now_s)  # as a collector does that starts
        return None

    town.tamper = away
    endings = town.run(most_s=20_000)
    assert not moments, endings
    assert kinds(endings) == {"shared"}, endings


def test_who_is_refused_by_the_authority_hears_that_her_release_is_stored(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if somebody else had claimed it; the release is there, and hers."""
    town = Town(database, 3)

    def claimed(_: bytes) -> dict[str, str]:
        raise PeerError("not-entitled", "an identifier that somebody else has claimed")

    monkeypatch.setattr(town.book, "take", claimed)
    endings = town.run()
    assert kinds(endings) == {"failed"}
    assert town.n_records == 3
    for ending in endings.values():
        assert ending.identifier is not None
        assert "the authority refused" in ending.message
        assert "stored all the same" in ending.message
        assert "shoal collect mine" in ending.message


def chances(thing: object, seen: set[int]) -> Iterator[Chance]:
    """All randomness that can be reached from a state."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, Chance):
        yield thing
    parts = (
        [*thing.keys(), *thing.values()]
        if isinstance(thing, dict)
        else list(thing)
        if isinstance(thing, list | tuple | set)
        else []
    )
    for part in [*parts, *vars(thing).values()] if hasattr(thing, "__dict__") else parts:
        yield from chances(part, seen)


def test_when_a_run_is_stopped_nothing_that_is_kept_leads_to_the_inner_key(database: Database) -> None:
    town, _, (first, _, third) = grouped(database)
    session = town.own_rounds[first]._session
    assert session is not None
    assert session._mix._inner_chance is not None
    inner = session._mix._inner_chance._seed
    assert any(
        inner in Chance(one._seed).take(100_000) or one._seed == inner
        for one in chances(town.own_rounds[first], set())
    ), "not yet"
    town.gone.add(third)
    assert kinds(town.run()) == {"failed"}
    kept = list(chances(through_disk(town.own_rounds[first]), set()))
    assert kept
    assert not any(inner in Chance(one._seed).take(100_000) or one._seed == inner for one in kept)
    own_round = town.own_rounds[first]
    assert inner.hex().encode() not in state_text(DeviceState(own_round.device, own_round))


def test_answers_that_come_when_all_is_answered_change_nothing(database: Database) -> None:
    town = Town(database, 3)
    late: list[tuple[int, Call]] = []

    def hold(number: int, call: Call) -> Call | None:
        own_round = town.own_rounds[number]
        if number == 1 and call.target.endswith("/questions") and not late:
            late.append((number, call))
            own_round.waiting_calls.pop(0)  # sent, and its reply is slow
            return None
        return call

    town.tamper = hold
    town.run(most_s=250)
    ((number, call),) = late
    own_round = town.own_rounds[number]
    assert own_round.phase != "asking", "the next member stood in"
    assert not own_round.replied(
        call, town.answer(identity_of(own_round.device.signing_seed), call), town.now_s
    )
    assert kinds(town.run()) == {"shared"}


def test_who_comes_late_takes_part_in_the_next_round(database: Database) -> None:
    town = Town(database, 6)
    town.rounds._round_size = 3
    late = {i: town.own_rounds.pop(i) for i in (3, 4, 5)}
    first = next(iter(late.values()))
    while town.database.row("SELECT 1 FROM round WHERE phase = 'joining'") or not town.database.row(
        "SELECT 1 FROM round"
    ):
        for number in town.own_rounds:
            town.step(number)
    refused = town.answer(
        identity_of(first.device.signing_seed),
        Call("POST", town.calls[-1][1].target.rsplit("/", 1)[0] + "/roster", bytes(64)),
    )
    assert refused.status == 401
    town.own_rounds.update(late)
    assert kinds(town.run()) == {"shared"}
    assert [row[0] for row in database.rows("SELECT phase FROM round")] == ["grouped", "grouped"]


def test_too_few_after_two_restarts_end_the_round(database: Database) -> None:
    town = Town(database, 3)
    town.tamper = lambda number, call: None if number == 2 and call.target.endswith("/commits") else call
    endings = town.run(most_s=2_000)
    assert {endings[i].kind for i in (0, 1)} == {"alone"}
    assert endings[0].message.endswith("try again later")


def forged(view: bytes, change: Callable[[dict[str, dict[str, str]]], None]) -> bytes:
    said = json.loads(view)
    change(said)
    return json.dumps(said).encode()


def other_commit(view: dict[str, dict[str, str]]) -> None:
    """The collector picks another outcome once it knows a secret."""
    who = sorted(view["roster"])[0]
    view["reveals"][who] = seed("another").hex()


def unsigned_member(view: dict[str, dict[str, str]]) -> None:
    """The collector puts somebody on the roster who never joined."""
    view["roster"][identity_of(seed("puppet")).hex()] = bytes(64).hex()


def other_terms(view: dict[str, dict[str, str]]) -> None:
    view["terms"] = {**view["terms"], "n_real": 3}  # type: ignore[dict-item]  # of any type


@pytest.mark.parametrize(
    ("change", "phase"),
    [(other_commit, "grouped"), (unsigned_member, "committing"), (other_terms, "committing")],
)
def test_a_collector_that_cheats_in_the_lots_is_found(
    database: Database, change: Callable[[dict[str, dict[str, str]]], None], phase: str
) -> None:
    town = Town(database, 3)
    honest = town.answer

    def lie(identity: bytes, call: Call) -> Reply:
        reply = honest(identity, call)
        if reply.status == 200 and f'"phase":"{phase}"'.encode() in reply.body:
            return Reply(200, forged(reply.body, change))
        return reply

    town.answer = lie  # type: ignore[method-assign]  # the lie
    endings = town.run()
    assert kinds(endings) == {"failed"}, endings
    assert database.rows("SELECT COUNT(*) FROM letter") == [(0,)]


def test_a_collector_that_invents_a_crowd_is_found_by_the_canary(database: Database) -> None:
    town = Town(database, 3, terms=TERMS.model_copy(update={"n_fake": 3}))
    honest = town.answer

    def lie(identity: bytes, call: Call) -> Reply:
        reply = honest(identity, call)
        if not call.target.endswith("/questions"):
            return reply
        parts = [reply.body[at : at + ANSWER_BYTES] for at in range(0, len(reply.body), ANSWER_BYTES)]
        bodies = [part[:32] + (16).to_bytes(2) + part[34:70] for part in parts]
        return Reply(200, b"".join(body + signature(town.server_seed, b"answer", body) for body in bodies))

    town.answer = lie  # type: ignore[method-assign]  # the lie
    endings = town.run()
    assert kinds(endings) == {"failed"}
    assert any("no one can have been" in one.message for one in endings.values()), "all fail when one stops"
    assert town.n_records == 0


def grouped(database: Database) -> tuple[Town, bytes, list[int]]:
    """A town whose group is drawn: its channel, and its members in their order."""
    town = Town(database, 3)
    town.run(after_step=lambda _: None, most_s=0.0)
    while not database.row("SELECT 1 FROM ticket WHERE session IS NOT NULL"):
        for number in town.own_rounds:
            town.step(number)
    rows = database.rows("SELECT session, identity FROM ticket ORDER BY place")
    order = [
        next(i for i, one in town.own_rounds.items() if identity_of(one.device.signing_seed) == bytes(row[1]))
        for row in rows
    ]
    return town, bytes(rows[0][0]), order


def framed(*letters: bytes) -> bytes:
    return b"".join(len(letter).to_bytes(4) + letter for letter in letters)


def test_long_letters_are_brought_in_several_requests() -> None:
    half, full = bytes(BODY_BYTES // 2 - 4), bytes(BODY_BYTES - 4)
    assert bundles([half, half, b"x", full, b"y", b"z"]) == [
        framed(half, half),
        framed(b"x"),
        framed(full),
        framed(b"y", b"z"),
    ]


@pytest.mark.parametrize("n", [3, 4])
def test_a_round_takes_21_requests_of_a_member_and_16_letters_to_each_other(
    database: Database, n: int
) -> None:
    town = Town(database, n, terms=TERMS.model_copy(update={"group_size": n}))
    assert kinds(town.run()) == {"shared"}
    for number in range(n):
        calls = [call for who, call, _ in town.calls if who == number and not call.poll]
        letters = [letter for call in calls if call.target == "/v1/letters" for letter in unbundle(call.body)]
        assert (len(calls), len(letters)) == (21, 16 * (n - 1))


def test_letters_go_only_between_members_and_only_once(database: Database) -> None:
    town, _, (first, second, third) = grouped(database)
    while (
        not town.own_rounds[first].waiting_calls or town.own_rounds[first].next_call().target != "/v1/letters"
    ):
        town.step(first)
    letter, other = unbundle(town.own_rounds[first].next_call().body)
    who = {
        number: identity_of(town.own_rounds[number].device.signing_seed) for number in (first, second, third)
    }
    stranger = identity_of(seed("stranger"))
    for identity, changed, kind in (
        (stranger, letter, "not-entitled"),
        (who[second], letter, "not-entitled"),
        (who[first], letter[:6] + bytes(32) + letter[38:], "wrong-session"),
        (who[first], letter[:39] + bytes((9,)) + letter[40:], "unknown-member"),
        (who[first], letter[:39] + bytes((0,)) + letter[40:], "unknown-member"),
        (who[first], letter[:40] + (64).to_bytes(4) + letter[44:], "too-many"),
        (who[first], letter[:20], "bad-length"),
        (who[first], b"x" + letter[1:], "bad-frame"),
        (who[first], letter + bytes(1 << 25), "bad-length"),
    ):
        with pytest.raises(PeerError) as refused:
            town.mailbox.send(identity, framed(other, changed), town.now_s)
        assert refused.value.kind == kind
    assert database.rows("SELECT COUNT(*) FROM letter") == [(0,)], "all of a request or nothing"
    assert town.mailbox.send(who[first], framed(letter), town.now_s) == 1
    assert town.mailbox.send(who[first], framed(letter, other), town.now_s) == 1, (
        "of what came in part before the rest is kept"
    )
    assert not town.mailbox.send(who[first], framed(letter), town.now_s), "a replay has no effect"
    with pytest.raises(PeerError, match="duplicate"):
        town.mailbox.send(who[first], framed(letter[:-1] + b"?"), town.now_s)
    for body in (b"", bytes(4), framed(letter)[:-1], framed(letter) + b"x", framed(b"")):
        with pytest.raises(PeerError, match="bad-length"):
            town.mailbox.send(who[first], body, town.now_s)
    receiver = (first, second, third)[letter[39]]
    batch = town.mailbox.fetch(who[receiver], 0)
    assert letter in batch
    assert town.mailbox.fetch(who[receiver], int.from_bytes(batch[:8])) == b""
    assert not town.mailbox.send(who[first], framed(letter), town.now_s), "not even when it has been fetched"
    town.now_s += 365 * DAY_S  # a clock that jumps, and is set right
    town.rounds.open_round(town.now_s)
    town.now_s -= 365 * DAY_S
    town.rounds.open_round(town.now_s)
    assert not town.mailbox.send(who[first], framed(letter), town.now_s), "deletes nothing"
    town.wait(25 * 3600)
    town.rounds.open_round(town.now_s)
    assert database.rows("SELECT COUNT(*) FROM letter") == [(0,)], "letters live for a day"
    with pytest.raises(PeerError, match="wrong-session"):
        town.mailbox.send(who[first], framed(letter), town.now_s)


def test_releases_need_more_than_half_of_the_group(database: Database) -> None:
    town, session, order = grouped(database)
    who = [identity_of(town.own_rounds[number].device.signing_seed) for number in order]
    releases = [Release(seed(x)[:16], bytes(16), bytes(32), (Cylinder(5, 6, 0, 0, 75),)) for x in "ab"]
    good, bad = (b"".join(encode_release(one, 1, Chance(seed(0)))) for one in releases)
    assert town.mailbox.deliver(who[0], session, bad, town.now_s)["stored"] is False
    assert town.mailbox.deliver(who[1], session, good, town.now_s)["stored"] is False
    assert town.n_records == 0
    with pytest.raises(PeerError, match="duplicate"):
        town.mailbox.deliver(who[0], session, good, town.now_s)
    stored = town.mailbox.deliver(who[2], session, good, town.now_s)
    assert (stored["stored"], town.n_records) == (True, 1)
    later = town.mailbox.deliver(who[1], session, good, town.now_s + 20 * 3600)
    assert later["receipts"] == stored["receipts"], "the same word, and the day on which it was stored"
    assert town.mailbox.deliver(who[0], session, bad, town.now_s)["stored"] is False
    for body, kind in ((good[:-1], "bad-length"), (b"", "bad-length"), (good * 4, "bad-length")):
        with pytest.raises(PeerError) as refused:
            town.mailbox.deliver(who[1], session, body, town.now_s)
        assert refused.value.kind == kind
    with pytest.raises(PeerError, match="not-entitled"):
        town.mailbox.deliver(identity_of(seed("stranger")), session, good, town.now_s)
