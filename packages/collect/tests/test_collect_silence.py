"""A member who falls silent before records can open costs the round to herself alone."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from service_town import Town, identity_of, through_disk
from session_groups import MIX, SENT, TERMS, SessionGroup
from shoal_collect.crypto import envelope
from shoal_collect.device.disk import decode, encode
from shoal_collect.faults import PeerError
from shoal_collect.mix.member import IgnoredMessage, Member
from shoal_collect.mix.messages import Confession, Kind, Opening
from shoal_collect.roles.group_session import GroupSession
from shoal_collect.roles.wire import DAY_S
from shoal_collect.storage.database import Database

OPENING, FIRST, HOP = MIX.index("opening"), MIX.index("key commitment"), MIX.index("hop")
VOTE, LAST_OPENING = MIX.index("vote"), SENT.index("second opening")


pytestmark = pytest.mark.usefixtures("quick_mixes")


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Member]]:
    """All members of all runs, with the inner secrets that each began with."""
    begun: list[Member] = []
    start = Member.start

    def spy(member: Member, now_s: float) -> Any:
        begun.append(member)
        member.began_with = member._inner_key()[0]  # type: ignore[attr-defined]  # a note of the test
        return start(member, now_s)

    monkeypatch.setattr(Member, "start", spy)
    yield begun
    for member in begun:
        own = {kind for kind, sender in member._slots if sender == member.me}
        assert not {Kind.OPEN, Kind.BLAME} <= own, "both keys of one run"
    opened = [
        (m.session.identities[m.me], m.session.n_records) for m in begun if (Kind.OPEN, m.me) in m._slots
    ]
    assert len(opened) == len(set(opened)), "two runs of the same records"


@pytest.mark.parametrize("when", SENT)
def test_those_who_are_left_finish_unless_records_can_be_open(when: str) -> None:
    at = SENT.index(when)
    group = SessionGroup(4, {2: at})
    finished = group.run()
    if when in ("opening", "second opening"):
        assert not finished
        assert all("silent member 2" in group.failures[place] for place in (0, 1, 3))
        assert len(group.batches) == (0 if when == "opening" else 4)
        return
    assert finished == [0, 1, 3], group.failures
    assert len(group.sessions[0].records) == 3
    asked = b"".join(group.batches)
    for place in range(4):
        is_in = at > OPENING or place != 2
        assert all((question in asked) == is_in for question in group.questions(place))


@pytest.mark.parametrize(
    ("n", "silent", "finished"),
    [
        (6, {2: HOP, 4: SENT.index("second input")}, [0, 1, 3, 5]),
        (5, {1: HOP, 4: HOP}, [0, 2, 3]),  # in one phase
        (4, {0: FIRST, 1: OPENING + 1}, []),  # the second is one too many
        (5, {0: FIRST, 1: FIRST, 2: HOP}, []),
        (3, {0: FIRST}, []),
    ],
)
def test_more_than_half_of_the_group_must_be_left(
    n: int, silent: dict[int, int], finished: list[int]
) -> None:
    group = SessionGroup(n, silent)
    assert group.run() == finished
    for failure in group.failures.values():
        assert failure.startswith("too-late")
        assert "proven" not in failure


def test_a_device_may_be_killed_after_every_step() -> None:
    def through_disk(session: GroupSession) -> GroupSession:
        kept: GroupSession = decode(encode(session))
        return kept

    group = SessionGroup(4, {1: VOTE}, keep=through_disk)
    assert group.run() == [0, 2, 3], group.failures


def test_a_collector_that_invents_silence_leaves_out_less_than_half() -> None:
    """It holds back what they send, and their own rounds end."""
    group = SessionGroup(5, relays=lambda sender, _, number: sender != 4 or number < 2)
    assert group.run() == [0, 1, 2, 3]
    assert "too-late" in group.failures[4]
    group = SessionGroup(4, relays=lambda sender, _, number: sender < 2 or number < 2)
    assert group.run() == []
    assert not group.batches, "nothing opened"


def test_a_collector_that_tells_members_of_different_silence_ends_the_round() -> None:
    """One half hears nothing of member 3, the other nothing of member 0."""
    deaf = {(3, 0), (3, 1), (0, 2), (0, 3)}
    group = SessionGroup(4, relays=lambda *pair, number: number < 2 or pair not in deaf)
    assert group.run() == []
    assert not group.batches, "nothing opened"


def test_who_wakes_up_before_the_next_run_takes_part_in_it() -> None:
    group = SessionGroup(4, {2: HOP})
    while not any((Kind.BLAME, 0) in session._mix._slots for session in group.sessions):
        group.now_s += 10
        for place in (0, 1, 3):
            group.step(place)
    del group.silent[2]
    assert group.run() == [0, 1, 2, 3], group.failures
    assert len(group.batches) == 4


def test_messages_of_an_abandoned_run_count_for_nothing(runs: list[Member]) -> None:
    """Neither under the name of the run that they were made for, nor sent again in letters of the next."""
    group = SessionGroup(4, {2: HOP})
    while group.sessions[0]._restarts == 0 or group.sessions[0].outbox:
        group.now_s += 10
        for place in (0, 1, 3):
            group.step(place)
    (old,) = [run for run in runs if run.me == 0 and run.session.n == 4]
    frames = [signed.frame for signed in old._slots.values()]
    for frame in frames:
        group.sessions[0]._broadcast(frame)
        (event,) = group.sessions[1]._mix.receive(frame, group.now_s)
        assert isinstance(event, IgnoredMessage)
        assert event.fault.kind == "wrong-session"
    assert group.run() == [0, 1, 3], group.failures


def test_an_abandoned_run_stays_closed_to_whoever_sees_the_next_one(runs: list[Member]) -> None:
    """All but member 0 pool what they had and saw, collector included; her runs have different inner keys."""
    group = SessionGroup(4, {2: VOTE})
    assert group.run() == [0, 1, 3]
    first = {run.me: run for run in runs if run.session.n == 4}
    second = {run.me: run for run in runs if run.session.n == 3 and run.session.n_records == 2}
    shown = Opening.decode(second[0].session, second[1]._slots[Kind.OPEN, 0].body).inner_secret
    sealed = Confession.decode(first[0].session, first[1]._slots[Kind.BLAME, 0].body).sealed
    others: list[bytes] = [first[place].began_with for place in (1, 2, 3)]  # type: ignore[attr-defined]

    def opens(secrets: list[bytes]) -> int:
        n, combined = 0, envelope.combined_secret(secrets)
        for one in sealed:
            try:
                n += envelope.unseal(one, combined, first[0].session.name) in group.questions(0)
            except PeerError:
                continue
        return n

    assert opens([*others, first[0].began_with]) == 2, "else nothing here could fail"  # type: ignore[attr-defined]
    assert opens([*others, shown]) == opens(others) == 0
    assert first[0].began_with.hex() not in str(encode(group.sessions[0]))  # type: ignore[attr-defined]
    bodies = [{signed.body for signed in run._slots.values()} for run in (first[1], second[1])]
    assert not bodies[0] & bodies[1]
    assert not set(sealed) & set(second[0]._sealed)


def test_laptops_that_wake_up_once_a_day_finish_within_three_days() -> None:
    """Twenty minutes each around one hour, half a minute for each request; killed when they fall asleep.

    One of them never wakes up after the first day: her group goes on without her, after two days of waiting
    for her message and two for her confession.
    """
    terms = TERMS.model_copy(update={"phase_limit_s": float(DAY_S)})
    dice, ended_on = random.Random(1), dict[int, int]()
    with Database() as database:
        town = Town(database, 8, terms=terms)
        town.rounds._join_s = float(DAY_S)
        for day in range(1, 6):
            wake_s = {number: town.now_s + dice.uniform(0, 600) for number in range(town.n)}
            evening_s = town.now_s
            while town.now_s < evening_s + 1_800:
                for number, from_s in wake_s.items():
                    own_round = town.own_rounds[number]
                    is_awake = from_s <= town.now_s < from_s + 1_200 and (number, day > 1) != (3, True)
                    if own_round.ending is None and is_awake:
                        town.step(number)
                town.now_s += 30
            town.wait(evening_s + DAY_S - town.now_s)
            for number, own_round in town.own_rounds.items():
                if own_round.ending is not None:
                    ended_on.setdefault(number, day)
            town.own_rounds = {number: through_disk(one) for number, one in town.own_rounds.items()}
        endings = {number: one.ending.kind for number, one in town.own_rounds.items() if one.ending}
        assert endings == dict.fromkeys(set(range(8)) - {3}, "shared")
        assert town.n_records == 7
        group = town.own_rounds[3].group
        assert group is not None
        hers = {
            number
            for number, one in town.own_rounds.items()
            if identity_of(one.entry.signing_seed) in group.identities
        }
        assert all(day <= 3 for number, day in ended_on.items() if number not in hers)
        assert {ended_on[number] for number in hers - {3}} == {5}
