"""Witnesses: everybody finds a collector that lies, and nobody can make an honest one look like a liar."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from service_town import TERMS, Town, asked_by_a_witness, identity_of, running, seed, volunteers, vouched
from shoal.errors import InputError
from shoal_collect.crypto.signatures import signature
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import RemoteServer, _keep_named
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import Query, encode_query
from shoal_collect.roles.group_session import GroupSession
from shoal_collect.roles.terms import OtherCollector, Terms
from shoal_collect.roles.wire import ANSWER_BYTES, DAY_S, SETTLE_S, Call, Reply, snapshot_day
from shoal_collect.server.http_witness import DayFollower, witness_application
from shoal_collect.server.mailbox import Collector
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

pytestmark = pytest.mark.usefixtures("quick_mixes")


def others(n: int) -> tuple[OtherCollector, ...]:
    return tuple(
        OtherCollector(url=f"https://w{i}.example.org", key=identity_of(seed("witness", i)).hex())
        for i in range(n)
    )


def watched(n: int = 1) -> Terms:
    return TERMS.model_copy(update={"witnesses": others(n)})


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with Database(database_url) as opened:
        yield opened


def test_a_round_with_two_witnesses(database: Database) -> None:
    volunteers(PhiStore(database), 4, 0)
    town = Town(database, 3, terms=watched(2), k=4)
    endings = town.run()
    assert {one.kind for one in endings.values()} == {"shared"}, endings
    assert {phi for one in endings.values() for phi in one.checked.values()} == {4}
    asked = [(call.to, reply.status) for _, call, reply in town.calls if "/questions" in call.target]
    assert sorted(asked) == sorted([(to, 200) for to in ("collector", "witness 1", "witness 2")] * 3)
    assert town.n_records == 4 + 3


def test_what_is_not_answered_is_said_and_makes_no_crowd_with_witnesses_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal_collect.storage.questions.MOST_S", -1.0)
    volunteers(PhiStore(database), 4, 0)
    town = Town(database, 3, terms=watched(), k=1)
    endings = town.run()
    assert {one.kind for one in endings.values()} == {"nothing-left"}, endings
    said = "the collector did not answer 2 of 2 questions about this trip, and these parts were left out"
    assert all(said in one.message for one in endings.values()), endings


def test_every_reply_may_be_lost_with_witnesses_too(database: Database) -> None:
    """The device goes on from what it kept before, and asks collector and witnesses again."""
    town = Town(database, 3, terms=watched(2))
    endings = town.run_losing_every_first_reply()
    assert {one.kind for one in endings.values()} == {"shared"}, endings
    asked = [(call.to, reply.status) for _, call, reply in town.calls if "/questions" in call.target]
    assert sorted(asked) == sorted([(to, 200) for to in ("collector", "witness 1", "witness 2")] * 6)
    assert town.n_records == 3


def lie_of(town: Town, liar: str, *, to: int | None = None) -> None:
    """One of the collectors counts one more than there are; to all, or to one member alone."""
    honest = town.answer
    signing_seed = town.server_seed if liar == "collector" else seed("witness", int(liar.split()[1]) - 1)

    def answer(identity: bytes, call: Call) -> Reply:
        reply = honest(identity, call)
        victim = to is None or identity == identity_of(town.own_rounds[to].device.signing_seed)
        if call.to != liar or "/questions" not in call.target or reply.status != 200 or not victim:
            return reply
        parts = [reply.body[at : at + ANSWER_BYTES] for at in range(0, len(reply.body), ANSWER_BYTES)]
        bodies = [part[:32] + (int.from_bytes(part[32:34]) + 1).to_bytes(2) + part[34:70] for part in parts]
        return Reply(200, b"".join(body + signature(signing_seed, b"answer", body) for body in bodies))

    town.answer = answer  # type: ignore[method-assign]  # the lie


@pytest.mark.parametrize("liar", ["collector", "witness 1", "witness 2"])
@pytest.mark.parametrize("to", [None, 1])
def test_whoever_counts_otherwise_is_found_by_everybody(liar: str, to: int | None) -> None:
    with Database() as database:
        town = Town(database, 3, terms=watched(2))
        lie_of(town, liar, to=to)
        endings = town.run()
        assert {one.kind for one in endings.values()} == {"failed"}, endings
        assert all("do not agree over the same state" in one.message for one in endings.values()), endings
        assert town.n_records == 0


def session_in_a_group(database: Database) -> tuple[Town, GroupSession, int]:
    """A member who is asking, and another's number whose slice she has not heard yet."""
    town = Town(database, 3, terms=watched())
    town.tamper = lambda _, call: None if "/questions" in call.target else call
    while any(own_round.phase != "asking" for own_round in town.own_rounds.values()):
        for number in town.own_rounds:
            town.step(number)
    session = town.own_rounds[0]._session
    assert session is not None
    number = (session.group.me + 1) % 3
    assert session.slice_of(number)
    return town, session, number


def test_only_answers_over_the_same_state_prove_a_lie() -> None:
    with Database() as database:
        town, session, number = session_in_a_group(database)
        store, today = PhiStore(database), snapshot_day(town.now_s)
        volunteers(store, 2, today - 1)
        records = session.slice_of(number)

        def said(who: bytes, day: int) -> bytes:
            honest = Collector(store, who, TERMS.thresholds)
            return b"".join(honest.sign_answer(record, honest.people(record, day), day) for record in records)

        first, witness = town.server_seed, seed("witness", 0)
        old = said(witness, today - 1)
        for text in (
            said(first, today) + old,  # both honest, of two days
            said(first, today - 1) + said(witness, today),
            said(first, today),  # of one collector alone
            said(first, today) + said(first, today),
            said(first, today) + said(seed("stranger"), today),
            said(first, today) + said(witness, today) + said(witness, today),
            said(first, today) + said(witness, today)[:-1],
            b"x",
        ):
            session._read_answers(bytes((number,)) + text)
            assert not session.answers
        session._read_answers(bytes((9,)) + said(first, today) + said(witness, today))
        session._read_answers(bytes((number,)) + said(first, today) + said(witness, today))
        assert len(session.answers) == len(records)
        forged = said(witness, today)
        volunteers(store, 5, today - 1)  # the first collector's database is changed under it
        assert said(witness, today) != forged
        with pytest.raises(PeerError, match="do not agree"):
            session._read_answers(bytes((number,)) + said(first, today) + forged)


def test_a_witness_answers_only_what_the_collector_has_answered(database: Database) -> None:
    town, session, _ = session_in_a_group(database)
    witness, me = town.witnesses[0], identity_of(town.own_rounds[0].device.signing_seed)
    channel = session.group.channel
    body, day = session._batch(session.group.me), snapshot_day(town.now_s)
    with pytest.raises(PeerError, match="ask it first"):
        witness.ask(me, channel, body, day)
    town.mailbox.ask(me, channel, body, town.now_s)
    assert len(witness.ask(me, channel, body, day)) == TERMS.n_questions * ANSWER_BYTES
    other = session.group.identities[session.group.me - 1]
    assert witness.ask(other, channel, body, day), "who stands in for a member needs the same answers"
    before = database.rows("SELECT * FROM asked")
    for identity, where, asked, snapshot, kind in (
        (me, channel, body, day + 1, "not-entitled"),
        (me, channel, body, day - 1, "not-entitled"),
        (me, channel, session._batch(session.group.me - 1), day, "not-entitled"),
        (me, channel, body[:-148] + body[:148], day, "not-entitled"),
        (identity_of(seed("stranger")), channel, body, day, "not-entitled"),
        (me, seed("another"), body, day, "wrong-session"),
        (me, channel, body[:200], day, "bad-length"),
    ):
        with pytest.raises(PeerError) as refused:
            witness.ask(identity, where, asked, snapshot)
        assert refused.value.kind == kind
    assert database.rows("SELECT * FROM asked") == before, "it writes nothing"
    town.rounds.open_round(town.now_s + DAY_S)
    assert witness.ask(me, channel, body, day), "over midnight, too"


def test_a_day_can_be_asked_about_when_it_has_settled() -> None:
    midnight_s = 20_000 * DAY_S
    assert [snapshot_day(midnight_s + late_s) for late_s in (-1, 0, SETTLE_S - 1, SETTLE_S)] == [
        19_999,
        19_999,
        19_999,
        20_000,
    ]
    pair = (Cylinder(10, 30, 0, 0, 100), Cylinder(30, 30, 0, 0, 100))
    with Database() as database:
        town, session, _ = session_in_a_group(database)
        volunteers(PhiStore(database), 2, 19_999, [Point(0.0, 0.0, 10.0), Point(0.0, 0.0, 30.0)])
        me = identity_of(town.own_rounds[0].device.signing_seed)
        asked = b"".join(encode_query(Query(bytes(15) + bytes((i,)), pair)) for i in range(3))
        seeds = {
            session.group.identities.index(identity_of(seed("sign", i))): seed("sign", i) for i in (0, 1)
        }
        body = vouched(session.group.channel, seeds, [asked, b"1", b"2"])
        counts = {}
        for late_s in (-1.0, 1.0, SETTLE_S):
            reply = town.mailbox.ask(me, session.group.channel, body, midnight_s + late_s)
            counts[late_s] = (int.from_bytes(reply[32:34]), int.from_bytes(reply[34:38]))
            if late_s < SETTLE_S:  # else the session keeps to the state that answered it first
                database.change("DELETE FROM asked")
        again = town.mailbox.ask(me, session.group.channel, body, midnight_s + 2 * DAY_S)
    assert counts == {-1.0: (0, 19_999), 1.0: (0, 19_999), SETTLE_S: (2, 20_000)}
    assert again == reply, "days later, too"


def test_a_witness_that_was_named_cannot_be_left_out(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    with Database() as database:
        kept = DeviceState(Town(database, 1).own_rounds[0].device)
    _keep_named(folder, kept, watched(1))
    _keep_named(folder, kept, watched(2))
    read = folder.load()
    assert read is not None
    assert read.device.witnesses == others(2)
    moved = others(1)[0].model_copy(update={"url": "https://elsewhere.example.org"})
    _keep_named(folder, kept, TERMS.model_copy(update={"witnesses": (moved, others(2)[1])}))
    for left in (others(1), (), (*others(1), OtherCollector(url="https://x", key=64 * "0"))):
        with pytest.raises(InputError, match="no longer names a witness"):
            _keep_named(folder, kept, TERMS.model_copy(update={"witnesses": left}))


def test_terms_name_each_witness_once() -> None:
    with pytest.raises(ValidationError, match="one key"):
        Terms(witnesses=others(1) * 2)
    for key in ("", "zz", 64 * "G", 66 * "0"):
        with pytest.raises(ValidationError):
            OtherCollector(url="https://x", key=key)


def test_a_witness_over_http_signs_and_refuses_by_name() -> None:
    with Database() as database:
        town, session, _ = session_in_a_group(database)
        device, body, day = (
            town.own_rounds[0].device,
            session._batch(session.group.me),
            snapshot_day(town.now_s),
        )
        town.mailbox.ask(identity_of(device.signing_seed), session.group.channel, body, town.now_s)
        key, target = seed("witness", 0), f"/v1/groups/{session.group.channel.hex()}/questions"
        own, ask = Database(), asked_by_a_witness(database, town.terms, lambda: day)
        with running(witness_application(own, key, DayFollower(own, ask), quiet=True)) as url:
            server = RemoteServer(url, key=identity_of(key))
            assert server.about()["server_key"] == identity_of(key).hex()
            good = Call("POST", f"{target}?snapshot={day}", body, to="witness 1")
            assert server.send(good, device, time.time()).body == town.witnesses[0].ask(
                identity_of(device.signing_seed), session.group.channel, body, day
            )
            for wrong, kind in (
                (f"?snapshot={day + 1}", "not-entitled"),
                ("?snapshot=-1", "out-of-range"),
                ("", "bad-frame"),
            ):
                refusal = server.send(
                    Call("POST", target + wrong, body, to="witness 1"), device, time.time()
                ).refusal
                assert refusal is not None
                assert refusal[0] == kind
            for absent in ("/v1/rounds", "/v1/letters?after=0"):
                assert server.send(Call("GET", absent, to="witness 1"), device, time.time()).status == 404
            server.close()
            impostor = RemoteServer(url, key=identity_of(seed("another")))
            with pytest.raises(PeerError, match="bad-signature"):
                impostor.send(Call("GET", "/v1/about", to="witness 1"), device, time.time())
            impostor.close()
