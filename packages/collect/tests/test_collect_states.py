"""The transition tables: complete, reachable, and what real and random runs do."""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect_campaigns import BadNetwork
from example_counts import examples
from mix_runs import PROVEN, Network, Withhold, build, session_of
from service_town import START_S, TERMS, Town, identity_of, kinds, seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature
from shoal_collect.faults import PeerError
from shoal_collect.mix import member as mix_member
from shoal_collect.mix.member import Member
from shoal_collect.mix.messages import Kind
from shoal_collect.roles import group_session, lottery, participant_round
from shoal_collect.roles.admission import Entry
from shoal_collect.roles.group_session import GroupSession
from shoal_collect.roles.lottery import LotteryPart, NoGroup, commitment, sign_lot
from shoal_collect.roles.participant_round import ParticipantRound
from shoal_collect.roles.wire import Call
from shoal_collect.server import rounds as server_rounds
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import Database
from shoal_collect.transitions import IGNORED, Step, Table, TransitionError

pytestmark = pytest.mark.usefixtures("quick_mixes")

Steps = list[tuple[StrEnum, StrEnum]]
Log = Mapping[Any, Steps]

TABLES: Final[dict[str, Table[Any, Any]]] = {
    "round": server_rounds.TABLE,
    "lottery": lottery.TABLE,
    "participant": participant_round.TABLE,
    "session": group_session.TABLE,
    "member": mix_member.TABLE,
}


def members_of(one: Any) -> list[Any]:
    """All members of the enumeration that one member belongs to."""
    kind: type[StrEnum] = type(one)
    return list(kind)


def states_of(table: Table[Any, Any]) -> list[Any]:
    return members_of(table.start)


def events_of(table: Table[Any, Any]) -> list[Any]:
    return members_of(next(iter(table.rows))[1])


def steps_of(table: Table[Any, Any]) -> dict[tuple[Any, Any], Step[Any]]:
    return {key: row for key, row in table.rows.items() if isinstance(row, Step)}


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_reached_and_every_event_is_used(name: str) -> None:
    table = TABLES[name]
    reached, found = {table.start}, {table.start}
    while found:
        found = {row.state for (state, _), row in steps_of(table).items() if state in found} - reached
        reached |= found
    assert reached == set(states_of(table))
    assert {event for _, event in table.rows} == set(events_of(table))


@pytest.mark.parametrize("name", TABLES)
def test_a_machine_ends_in_its_final_states_and_nowhere_else(name: str) -> None:
    table = TABLES[name]
    assert table.final
    left = {state for state, _ in steps_of(table)}
    ways_on = {"session": {group_session.State.MIXED}}.get(name, set())  # the round goes on from there
    assert left == set(states_of(table)) - table.final | (left & ways_on)


@pytest.mark.parametrize("name", TABLES)
def test_an_event_without_a_row_is_an_error_by_name(name: str) -> None:
    table, without = TABLES[name], 0
    for state, event in itertools.product(states_of(table), events_of(table)):
        if (state, event) in table.rows:
            continue
        without += 1
        with pytest.raises(
            TransitionError, match=f"{table.name} in the state '{state}' has no row .*'{event}'"
        ):
            table.step(state, event)
        assert not table.reacts(state, event)
    assert without, "no table knows every event in every state"


def test_every_action_of_a_table_is_a_method_of_its_machine() -> None:
    machines = {
        "round": Rounds,
        "lottery": LotteryPart,
        "participant": ParticipantRound,
        "session": GroupSession,
        "member": Member,
    }
    for name, table in TABLES.items():
        for row in steps_of(table).values():
            assert row.action is None or callable(getattr(machines[name], row.action))


# what runs do: (state, event) of every step of every machine


@contextmanager
def recorded(
    *machines: tuple[type[Any], Callable[..., tuple[Hashable, StrEnum]]],
) -> Iterator[defaultdict[Any, Steps]]:
    """Every step that these machines are about to take, while this lasts."""
    log: defaultdict[Any, Steps] = defaultdict(list)
    with pytest.MonkeyPatch.context() as patch:
        for kind, of in machines:

            def step(
                self: Any,
                *rest: Any,
                real: Callable[..., Any] = kind._step,
                of: Callable[..., tuple[Hashable, StrEnum]] = of,
            ) -> Any:
                key, state = of(self, *rest)
                log[key].append((state, next(one for one in rest if type(one).__name__ == "Event")))
                return real(self, *rest)

            patch.setattr(kind, "_step", step)
        yield log


def require_agreement(table: Table[Any, Any], log: Log) -> set[tuple[StrEnum, StrEnum]]:
    """Each machine is, at every step, where the table led from the step before; all pairs that were seen."""
    seen = set()
    for steps in log.values():
        expected = table.start
        for state, event in steps:
            assert state == expected
            seen.add((state, event))
            row = table.rows[state, event]
            expected = row.state if isinstance(row, Step) else state
    assert seen
    return seen


def of_member(member: Member, *_: object) -> tuple[Hashable, StrEnum]:
    return id(member), member._state


def mix_run(number: int, cheater: type[Member] | None, crash_before: Kind | None = None) -> list[Member]:
    """One run over a bad network, with one cheater or one who vanishes; the honest members."""
    draw = random.Random(number)
    session = session_of(draw.choice((3, 4)), 2, name=number)
    place = draw.randrange(session.n - 1)  # the last mixes nothing
    members = build(session, {} if cheater is None else {place: cheater})
    if cheater is not None or crash_before is not None:
        network = Network(members, number)
        if crash_before is not None:
            vanishing = members[place]
            vanishing.told = (  # type: ignore[attr-defined]  # as a cheater's
                lambda _other, frame: None if frame[6] >= crash_before else frame
            )
        network.run()
        return [member for member in members if member.me != place]
    BadNetwork.drawn(number).run(members)
    return members


@examples(0.5)
@given(number=st.integers(0, 10_000), cheater=st.sampled_from([None, *PROVEN, Withhold]))
def test_members_do_what_the_table_says(number: int, cheater: type[Member] | None) -> None:
    with recorded((Member, of_member)) as log:
        honest = mix_run(number, cheater)
    own = {id(member): log[id(member)] for member in honest}
    require_agreement(mix_member.TABLE, own)
    for member in honest:
        state, event = log[id(member)][-1]
        row = steps_of(mix_member.TABLE).get((state, event))
        assert member._state == (state if row is None else row.state)


def test_members_of_real_runs_are_in_every_state() -> None:
    seen: set[tuple[StrEnum, StrEnum]] = set()
    for number, cheater in enumerate((None, *PROVEN, Withhold)):
        with recorded((Member, of_member)) as log:
            honest = mix_run(number, cheater)
        seen |= require_agreement(mix_member.TABLE, {id(one): log[id(one)] for one in honest})
    for number, kind in enumerate(Kind):
        with recorded((Member, of_member)) as log:
            honest = mix_run(number, None, crash_before=kind)
        seen |= require_agreement(mix_member.TABLE, {id(one): log[id(one)] for one in honest})
    steps: dict[Any, Step[Any]] = steps_of(mix_member.TABLE)
    taken = {steps[one].action for one in seen if one in steps}
    assert taken == {row.action for row in steps.values()}
    assert {state for state, _ in seen} >= set(mix_member.State) - mix_member.TABLE.final
    assert {event for _, event in seen} == set(mix_member.Event)


def of_lottery(part: LotteryPart, *_: object) -> tuple[Hashable, StrEnum]:
    return "lottery", part._state


PEOPLE = [seed("sign", i) for i in range(4)]


@given(
    shown=st.lists(
        st.tuples(
            st.sampled_from(["joining", "committing", "revealing", "grouped", "failed", "over", "paused"]),
            st.integers(0, 3),
            st.integers(0, 15),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_a_member_in_the_lottery_does_what_the_table_says_whatever_she_is_shown(
    shown: list[tuple[str, int, int, bool]],
) -> None:
    """Views in any order, honest or not: each is taken, or refused by name."""
    name, part = bytes(32), LotteryPart(Entry(PEOPLE[0]), seed("server"), TERMS, Chance(seed("x")))
    text = TERMS.join_text(name)
    with recorded((LotteryPart, of_lottery)) as log:
        for phase, restarts, roster, committed in [("joining", 0, 0, False), *shown]:
            members = [one for i, one in enumerate(PEOPLE) if roster >> i & 1]
            view = {
                "round": name.hex(),
                "phase": phase,
                "terms": TERMS.model_dump(),
                "restarts": restarts,
                "roster": {identity_of(one).hex(): signature(one, b"join", text).hex() for one in members},
                "commits": {identity_of(one).hex(): seed(one).hex() for one in members if committed},
                "reveals": {},
                "token_key": "",
            }
            try:
                part.take_view(view)
            except (PeerError, NoGroup):
                break
    require_agreement(lottery.TABLE, log)


def of_round(_: Rounds, one: Any, *__: object) -> tuple[Hashable, StrEnum]:
    return one.name, one.phase


REQUESTS = ("join", "commit", "reveal", "wrong reveal", "look", "wait", "wait a day", "new terms")
WAITS_S = {"wait": 200.0, "wait a day": 90_000.0}


def ask(rounds: Rounds, name: bytes, request: str, number: int, now_s: float) -> None:
    """One request of one member; raises PeerError when the server refuses it."""
    member, secret = seed("sign", number), seed("secret", number)
    who, lottery = identity_of(member), rounds._lottery(rounds._load(name))
    if request == "join":
        text = rounds._load(name).terms.join_text(name)
        rounds.join(name, who, signature(member, b"join", text), now_s)
    elif request == "commit":
        lot = commitment(lottery.roster, who, secret)
        rounds.commit(name, who, sign_lot(member, b"commit", lottery.roster, lot), now_s)
    elif request in ("reveal", "wrong reveal"):
        said = secret if request == "reveal" else bytes(32)
        rounds.reveal(name, who, sign_lot(member, b"reveal", lottery.roster, said), now_s)


@given(asked=st.lists(st.tuples(st.sampled_from(REQUESTS), st.integers(0, 4)), min_size=1, max_size=60))
def test_rounds_on_the_server_do_what_the_table_says_whatever_they_are_asked(
    asked: list[tuple[str, int]],
) -> None:
    with Database() as database, recorded((Rounds, of_round)) as log:
        now_s = START_S
        rounds = Rounds(database, TERMS, Chance(seed("names")).take, round_size=4, join_s=100)
        name = bytes.fromhex(rounds.open_round(now_s)["round"])
        for request, number in asked:
            now_s += WAITS_S.get(request, 0.0)
            if request == "new terms":
                rounds._terms = TERMS.model_copy(update={"n_real": 3 + number})
                rounds.open_round(now_s)
            before = len(log[name])
            try:
                ask(rounds, name, request, number, now_s)
            except PeerError:
                del log[name][
                    before:
                ]  # a refused request changes nothing: whoever asks next moves the round on
        ended = rounds.view(name, None, now_s)["phase"]
    assert ended in set(server_rounds.Phase)
    if log[name]:  # else nothing was due
        require_agreement(server_rounds.TABLE, {name: log[name]})
        assert ended == steps_of(server_rounds.TABLE)[log[name][-1]].state


def test_a_round_on_the_server_passes_every_phase() -> None:
    with Database() as database, recorded((Rounds, of_round)) as log:
        rounds = Rounds(database, TERMS, Chance(seed("names")).take, round_size=4, join_s=100)
        names = []
        for heard in (4, 2, 0):  # all, too few and nobody commits
            names.append(bytes.fromhex(rounds.open_round(START_S)["round"]))
            for number in range(4):
                ask(rounds, names[-1], "join", number, START_S)
            for request in ("commit", "reveal"):
                for number in range(heard if heard == 4 or request == "commit" else 0):
                    ask(rounds, names[-1], request, number, START_S)
            # nothing is forgotten before the clock has gone evenly for a day
            for later_s in (200.0, 400.0, 600.0, *range(40_000, 280_000, 40_000)):
                rounds.view(names[-1], None, START_S + later_s)
    seen = require_agreement(server_rounds.TABLE, {name: log[name] for name in names})
    assert {state for state, _ in seen} == set(server_rounds.Phase) - {server_rounds.Phase.OVER}


def of_own_round(own_round: ParticipantRound, *_: object) -> tuple[Hashable, StrEnum]:
    return ("round", id(own_round)), own_round._state


def of_session(session: GroupSession, *_: object) -> tuple[Hashable, StrEnum]:
    return ("session", id(session)), session.stage


def vanish_at(town: Town, path: str) -> None:
    def tamper(number: int, call: Call) -> Call | None:
        if number == 1 and call.target.endswith(path):
            town.gone.add(1)
            return None
        return call

    town.tamper = tamper


def sound(_: Town) -> None:
    """Nothing goes wrong."""


def too_few(town: Town) -> None:
    town.tamper = lambda number, call: None if number == 2 and call.target.endswith("/commits") else call


def silent_while_asking(town: Town) -> None:
    town.tamper = lambda number, call: None if number == 1 and call.target.endswith("/questions") else call


SCENARIOS: dict[str, tuple[dict[str, Any], Callable[[Town], None], set[str]]] = {
    "sound": ({}, sound, {"shared"}),
    "everything is rare": ({"k": 5}, sound, {"nothing-left"}),
    "nobody commits in time": ({}, too_few, {"alone"}),
    "somebody does not ask": ({}, silent_while_asking, {"failed"}),
    "somebody vanishes while storing": ({}, lambda town: vanish_at(town, "/releases"), {"shared"}),
}


def test_participants_and_their_sessions_do_what_the_tables_say_and_are_in_every_state() -> None:
    seen: dict[str, set[tuple[StrEnum, StrEnum]]] = {"round": set(), "session": set()}
    ended: set[StrEnum] = set()
    for options, arrange, expected in SCENARIOS.values():
        with (
            Database() as database,
            recorded((ParticipantRound, of_own_round), (GroupSession, of_session)) as log,
        ):
            town = Town(database, 3, **options)
            arrange(town)
            endings = town.run(most_s=3_000)
            assert kinds(endings) >= expected, endings
            ended |= {town.own_rounds[number]._state for number in endings}
        for name, table in (
            ("round", participant_round.TABLE),
            ("session", group_session.TABLE),
        ):
            own = {key: steps for key, steps in log.items() if isinstance(key, tuple) and key[0] == name}
            if own:
                seen[name] |= require_agreement(table, own)
    assert {state for state, _ in seen["round"]} | ended == set(participant_round.State)
    assert {state for state, _ in seen["session"]} >= {
        group_session.State.QUESTIONS,
        group_session.State.ASKING,
        group_session.State.CHASING,
        group_session.State.RELEASES,
    }


def test_a_round_that_has_ended_takes_slow_replies_and_refuses_what_cannot_come() -> None:
    with Database() as database:
        town = Town(database, 3)
        town.run()
        own_round = town.own_rounds[0]
        assert participant_round.TABLE.rows[own_round._state, participant_round.Event.ANSWERS] is IGNORED
        call = Call("GET", "/v1/letters?after=0", poll=True)
        with pytest.raises(TransitionError, match="no row for the event 'letters'"):
            own_round.replied(call, town.answer(identity_of(own_round.device.signing_seed), call), town.now_s)
