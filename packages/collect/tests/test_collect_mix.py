"""The mix: what goes in comes out, whoever breaks it is named and nobody else, and nothing opens on NO-GO."""

import random
from collections.abc import Callable

import pytest

from mix_runs import (
    LAST_MIXES_NOTHING,
    PROVEN,
    Network,
    TagThenSilent,
    Withhold,
    build,
    opened,
    records_of,
    seed,
    session_of,
)
from shoal_collect.crypto.elgamal import combined_key
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.faults import PeerError
from shoal_collect.mix.member import AbortedRun, Broadcast, Member, OpenedRecords, Output
from shoal_collect.mix.messages import Kind, Session, Vote, encode, make_input, open_frame, sign


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_everybody_gets_the_same_records_and_they_are_all_there(n: int) -> None:
    session = session_of(n, 2)
    network = Network(build(session), schedule=n)
    outcomes = network.run()
    expected = tuple(sorted(record for member in range(n) for record in records_of(session, member)))
    assert [outcome.records for outcome in opened(outcomes)] == [expected] * n
    assert network.sent == [7 * (n - 1)] * n
    assert not network.ignored


def test_the_real_group() -> None:
    session = session_of(3, 1, group=FFDHE3072, record_bytes=148)
    assert len(opened(Network(build(session)).run())) == 3


def check_caught(session: Session, kind: type[Member], place: int, schedule: int) -> None:
    members = build(session, {place: kind})
    outcomes = Network(members, schedule).run()
    honest = {me: outcome for me, outcome in outcomes.items() if me != place}
    assert len(honest) == session.n - 1
    for outcome in honest.values():
        assert isinstance(outcome, AbortedRun), f"{kind.__name__} at {place}: opened"
        assert outcome.findings.culprits == {place}, (
            f"{kind.__name__} at {place} of {session.n}: {outcome.findings}"
        )
    shown = [slots for member in members if member.me != place for slots in [member._slots]]
    assert all(not {(Kind.OPEN, me), (Kind.BLAME, me)} <= slots.keys() for slots in shown for me in honest), (
        "gave both keys"
    )


class Twin(Member):
    """Puts in the same envelopes as her accomplice, which makes honest members stop the run."""

    def _make_input(self) -> bytes:
        super()._make_input()
        size = self.session.sealed_bytes
        self._sealed = tuple((seed("twins", i) * 9)[:size] for i in range(self.session.n_records))
        y = combined_key(self.session.group, [key.share for key in self._keys])
        return encode(self.session.group, make_input(self.session, y, self._sealed, self._input_seed))


def test_two_who_agreed_on_an_envelope_cannot_make_the_others_look_like_stoppers() -> None:
    outcomes = Network(build(session_of(4, 2), {0: Twin, 2: Twin}), 3).run()
    for me in (1, 3):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {0, 2}, outcome.findings


@pytest.mark.parametrize("kind", PROVEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n", [3, 4])
def test_cheaters_are_named_and_nobody_else(kind: type[Member], n: int) -> None:
    session = session_of(n, 2)
    for place in range(n - 1 if kind in LAST_MIXES_NOTHING else n):
        check_caught(session, kind, place, schedule=place)


def test_a_cheater_who_confesses_nothing_puts_the_blame_on_nobody_else() -> None:
    for place in range(3):
        outcomes = Network(build(session_of(4, 2), {place: TagThenSilent}), place).run()
        honest = [outcomes[me] for me in range(4) if me != place]
        assert len(honest) == 3
        for outcome in honest:
            assert isinstance(outcome, AbortedRun)
            assert outcome.findings.silent == {place}
            assert not outcome.findings.culprits


def test_whoever_votes_go_and_withholds_is_known_and_nothing_opens() -> None:
    for place in range(3):
        outcomes = Network(build(session_of(3, 2), {place: Withhold}), place).run()
        honest = [outcome for me, outcome in outcomes.items() if me != place]
        assert len(honest) == 2
        assert all(
            isinstance(one, AbortedRun) and one.findings.silent == {place} and not one.findings.culprits
            for one in honest
        )


@pytest.mark.parametrize(
    "crash_before", [Kind.KEY, Kind.INPUT_COMMIT, Kind.INPUT, Kind.HOP, Kind.VOTE, Kind.OPEN]
)
def test_a_member_that_vanishes_ends_the_run_for_all(crash_before: Kind) -> None:
    class Vanish(Member):
        def told(self, other: int, frame: bytes) -> bytes | None:
            return None if frame[6] >= crash_before else frame

    outcomes = Network(build(session_of(4, 1), {2: Vanish})).run()
    for me in (0, 1, 3):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.silent == {2}
        assert not outcome.findings.culprits


@pytest.mark.parametrize("schedule", range(12))
def test_bad_networks_end_every_run_without_a_false_verdict(schedule: int) -> None:
    settings = random.Random(schedule)
    session = session_of(settings.choice((3, 4)), 1)
    network = Network(
        build(session), schedule, lose=settings.choice((0, 0.05)), copy=0.2, damage=settings.choice((0, 0.05))
    )
    outcomes = network.run()
    assert len(outcomes) == session.n
    assert all(
        not outcome.findings.culprits for outcome in outcomes.values() if isinstance(outcome, AbortedRun)
    )
    repeated = Network(build(session), schedule, lose=network.lose, copy=0.2, damage=network.damage)
    repeated.run()
    assert repeated.trace.digest() == network.trace.digest()


def test_messages_that_are_none_have_no_effect_and_a_name() -> None:
    session, other = session_of(3, 1), session_of(3, 1, name="another run")
    members = build(session)
    for member in members:
        member.start(0.0)
    good = build(session)[1].start(0.0)[0]
    frame = good.frame  # type: ignore[union-attr]  # the first event of a start is a broadcast
    stranger = sign(session, Kind.KEY_COMMIT, 1, bytes(32), bytes(32)).frame
    stale = build(other)[1].start(0.0)[0].frame  # type: ignore[union-attr]
    from_nobody = frame[:39] + b"\x07" + frame[40:]
    cases = {
        "bad-length": [b"", frame[:50], frame + bytes(10**7)],
        "bad-frame": [b"x" + frame[1:], frame[:6] + b"\x63" + frame[7:]],
        "wrong-session": [stale],
        "unknown-member": [from_nobody],
        "bad-signature": [stranger, frame[:-1] + bytes((frame[-1] ^ 1,))],
    }
    for kind, frames in cases.items():
        for one in frames:
            (event,) = members[0].receive(one, 0.0)
            assert event.fault.kind == kind  # type: ignore[union-attr]
    assert members[0].receive(frame, 0.0) == []
    (again,) = members[0].receive(frame, 0.0)
    assert again.fault.kind == "duplicate"  # type: ignore[union-attr]


def test_mutated_frames_never_crash_the_parser() -> None:
    session = session_of(3, 1)
    frame, chance = (
        sign(session, Kind.VOTE, 1, encode(session.group, Vote(True, bytes(32))), bytes(32)).frame,
        random.Random(1),
    )
    accepted = 0
    for _ in range(2_000):
        mutated = bytearray(frame)
        for _ in range(chance.randrange(1, 4)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        try:
            open_frame(session, bytes(mutated[: chance.randrange(1, len(mutated) + 1)]))
            accepted += 1
        except PeerError:
            continue
    assert accepted == 0


def test_outcomes_are_final() -> None:
    session = session_of(3, 1)
    members = build(session)
    Network(members).run()
    (event,) = members[0].receive(sign(session, Kind.VOTE, 1, b"", bytes(32)).frame, 0.0)
    assert event.fault.kind in ("too-late", "bad-signature")  # type: ignore[union-attr]
    assert isinstance(Network(build(session)).run()[0], OpenedRecords)


def test_a_member_is_rebuilt_from_her_seed_and_what_she_received() -> None:
    session = session_of(4, 2)
    for place in range(4):
        members, log, said = build(session), list[bytes](), list[bytes]()
        real = members[place].receive

        def logged(
            frame: bytes, now_s: float, real: Callable[..., list[Output]] = real, log: list[bytes] = log
        ) -> list[Output]:
            log.append(frame)
            return real(frame, now_s)

        members[place].receive = logged  # type: ignore[method-assign]  # a spy
        network = Network(members, place)
        outcome = network.run()[place]
        said = [
            signed.frame for (_, sender), signed in sorted(members[place]._slots.items()) if sender == place
        ]
        again = build(session)[place]
        events = again.start(0.0)
        for frame in log:
            events += again.receive(frame, 0.0)
        assert [event.frame for event in events if isinstance(event, Broadcast)] == said
        assert events[-1] == outcome
