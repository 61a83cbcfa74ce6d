"""Exclusion after blame: what messages prove to somebody who was not there, and who gets no token for it."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mix_runs import (
    ConfessUncalled,
    EquivocateInput,
    FalseNoGo,
    Network,
    Replace,
    TagThenOpen,
    TagThenSilent,
    Withhold,
    build,
    seed,
    session_of,
)
from service_town import START_S, Town, kinds, running
from service_town import seed as secret
from shoal.errors import InputError
from shoal_collect.crypto.elgamal import combined_key
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.admission import report, request_entry
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import read_testimonies
from shoal_collect.mix.member import AbortedRun, Member
from shoal_collect.mix.messages import encode_list
from shoal_collect.mix.proof import choose_evidence, find_proven_culprits
from shoal_collect.mix.session import Session, open_frame, sign
from shoal_collect.mix.transcript import make_input
from shoal_collect.roles.accusation import Accusation, read_accusation
from shoal_collect.roles.admission import CLEARANCE_BYTES, EXCLUDED_DAYS, Entry, TokenRequest
from shoal_collect.roles.participant_round import Device
from shoal_collect.server.http_registrar import registrar_application
from shoal_collect.storage.database import Database
from test_collect_admission import CODES, COLLECTOR, PERIOD, Office, another_office, flipped, town_of


def reports(session: Session, members: Iterable[Member], culprit: int) -> list[list[bytes]]:
    """What each member could show against one of them."""
    found = []
    for member in members:
        given = read_testimonies(session, member._slots)[1]
        found.append(choose_evidence(member._received, given, culprit))
    return found


FRAUDS = (Replace, FalseNoGo, EquivocateInput, ConfessUncalled, TagThenOpen, TagThenSilent, Withhold)


@pytest.mark.parametrize("kind", FRAUDS, ids=lambda kind: kind.__name__)
def test_nobody_honest_is_proven_whatever_is_shown_and_whatever_the_culprit_adds(kind: type[Member]) -> None:
    """That every fraud is proven stands in test_collect_mix; who keeps silent is proven to nobody."""
    session, chance = session_of(3, 2), random.Random(kind.__name__)
    members = build(session, {1: kind})
    Network(members, 1).run()
    honest = {signed.frame for me in (0, 2) for signed in members[me]._slots.values()}
    frames, named = sorted(honest), set[frozenset[int]]()
    if kind in (TagThenSilent, Withhold):
        assert find_proven_culprits(session, frames) == set()
    own = [open_frame(session, frame) for frame in frames if frame[39] == 1]
    forged = [
        sign(session, one.kind, 1, one.body[:-1] + bytes((one.body[-1] ^ 1,)), seed("identity", 1)).frame
        for one in own
    ]
    for attempt in range(10):
        pool = frames if attempt % 2 else frames + chance.sample(forged, 2)
        some = chance.sample(pool, chance.randrange(len(pool) // 2, len(pool) + 1))
        named.add(find_proven_culprits(session, some))
    assert named <= {frozenset(), frozenset({1})}


class Twin(Member):
    """Puts in the same envelopes as her accomplice, which makes honest members stop the run."""

    def _make_input(self) -> bytes:
        super()._make_input()
        size = self.session.sealed_bytes
        self._sealed = tuple((seed("twins", i) * 9)[:size] for i in range(self.session.n_records))
        y = combined_key(self.session.group, [key.share for key in self._keys])
        return encode_list(self.session.group, make_input(self.session, y, self._sealed, self._input_seed))


def test_two_who_agreed_on_an_envelope_cannot_make_the_others_look_like_stoppers() -> None:
    session = session_of(4, 2)
    members = build(session, {0: Twin, 2: Twin})
    outcomes = Network(members, 3).run()
    assert len(outcomes) == 4
    for me in (1, 3):
        outcome = outcomes[me]
        assert isinstance(outcome, AbortedRun)
        assert outcome.findings.culprits == {0, 2}, outcome.findings
        for culprit in (0, 2):
            (frames,) = reports(session, [members[me]], culprit)
            assert culprit in find_proven_culprits(session, frames) <= {0, 2}


DAY_AFTER_S = START_S + 86_400  # at 8 h: proofs of the day before have come in
CULPRIT = 1


@dataclass
class Blamed:
    """A round in which one of three cheats, and what the others have against her."""

    office: Office
    town: Town
    accusation: Accusation


@pytest.fixture(scope="module")
def blamed() -> Iterator[Blamed]:
    office = Office("registrar")
    for number in range(4):
        office.entry(secret("device", number), CODES[number])
    with Database() as database, pytest.MonkeyPatch.context() as patch:
        town = town_of(office, database)
        culprit = town.own_rounds[CULPRIT].entry.signing_seed

        def member(session: Session, me: int, signing_seed: bytes, *rest: Any) -> Member:
            return (FalseNoGo if signing_seed == culprit else Member)(session, me, signing_seed, *rest)

        patch.setattr("shoal_collect.roles.group_session.Member", member)
        endings = town.run()
        assert kinds(endings) == {"failed"}
        reports = [town.own_rounds[number].accusations for number in (0, 2)]
        assert [len(one) for one in reports] == [1, 1]
        assert town.own_rounds[CULPRIT].accusations == []
        group = town.own_rounds[0].group
        assert group is not None
        accusation = read_accusation(reports[0][0])
        assert accusation.identities[accusation.culprit] == town.own_rounds[CULPRIT].identity
        assert accusation.encode() == reports[0][0]
        yield Blamed(office, town, accusation)


def others(one: Accusation) -> tuple[int, int]:
    """The places of the honest."""
    return (one.culprit + 1) % 3, (one.culprit + 2) % 3


def entry_of(found: Blamed, place: int) -> bytes:
    group = found.town.own_rounds[0].group
    assert group is not None
    assert group.drawn is not None
    return group.drawn.entries[place]


FRAMES: dict[str, tuple[Callable[[Blamed], Accusation], str]] = {
    "an honest member": (
        lambda it: replace(
            it.accusation,
            culprit=others(it.accusation)[0],
            entry=entry_of(it, others(it.accusation)[0]),
        ),
        "bad-proof",
    ),
    "another's place under the culprit's token": (
        lambda it: replace(it.accusation, culprit=others(it.accusation)[1]),
        "bad-signature",
    ),
    "nothing shown": (lambda it: replace(it.accusation, frames=()), "bad-proof"),
    "only what others sent": (
        lambda it: replace(
            it.accusation,
            frames=tuple(one for one in it.accusation.frames if one[39] != it.accusation.culprit),
        ),
        "bad-proof",
    ),
    "other terms": (
        lambda it: replace(it.accusation, terms=it.accusation.terms.replace(b'"n_fake":1', b'"n_fake":2')),
        "bad-signature",
    ),
    "terms that are none": (lambda it: replace(it.accusation, terms=b"{]"), "bad-record"),
    "another round": (lambda it: replace(it.accusation, round_name=secret("another")), "bad-signature"),
    "another lottery": (lambda it: replace(it.accusation, seed=secret("another")), "wrong-session"),
    "the other mix run": (lambda it: replace(it.accusation, tag=3), "wrong-session"),
    "another collector": (lambda it: replace(it.accusation, collector_key=secret("x")), "bad-signature"),
    "somebody twice": (
        lambda it: replace(it.accusation, identities=(it.accusation.identities[0],) * 3),
        "out-of-range",
    ),
}


@pytest.mark.parametrize("what", FRAMES)
def test_an_accusation_that_proves_nothing_is_refused_by_name(blamed: Blamed, what: str) -> None:
    change, kind = FRAMES[what]
    with pytest.raises(PeerError) as caught:
        blamed.office.registrar.accuse(change(blamed).encode(), START_S)
    assert caught.value.kind == kind
    assert blamed.office.book.counts()["blamed"] == 0


def test_bytes_that_are_no_accusation_are_refused_by_name(blamed: Blamed) -> None:
    chance, good = random.Random(4), blamed.accusation.encode()
    for body in (b"", b"x", good[:-1], good + b"x", good[:40], bytes(200), good[:12] + bytes(5000)):
        with pytest.raises(PeerError):
            read_accusation(body)
    for _ in range(25):
        at = chance.randrange(len(good))
        bad = good[:at] + bytes((good[at] ^ (1 << chance.randrange(8)),)) + good[at + 1 :]
        with pytest.raises(PeerError):
            blamed.office.registrar.accuse(bad, START_S)
    for registrar in (another_office().registrar,):
        with pytest.raises(PeerError, match="another registrar"):
            registrar.accuse(good, START_S)


def test_the_blamed_gets_no_token_for_a_month_and_everybody_else_does(blamed: Blamed) -> None:
    office, accuse = blamed.office, blamed.office.registrar.accuse
    body = blamed.accusation.encode()
    assert [accuse(body, START_S), accuse(body, START_S)] == [True, False], "reported twice, counted once"
    (other,) = blamed.town.own_rounds[2].accusations
    assert not accuse(other, DAY_AFTER_S), "by somebody else, too"
    assert office.book.counts()["blamed"] == 1
    requests = {n: TokenRequest(secret("device", n), COLLECTOR, office.terms) for n in range(4)}
    with pytest.raises(PeerError, match="not over"):
        office.clearance(requests[0], START_S)
    kept = {n: office.entry(secret("device", n), now_s=DAY_AFTER_S) for n in (0, 2)}
    assert len({one.token for one in kept.values()}) == 2
    assert office.entry(secret("device", 0), now_s=DAY_AFTER_S) == kept[0], "a lost reply is asked for again"
    with pytest.raises(PeerError, match="stands against this token"):
        office.entry(secret("device", CULPRIT), now_s=DAY_AFTER_S)
    tomorrow = requests[CULPRIT].of_period(PERIOD + 1)
    own = office.again(requests[2], DAY_AFTER_S)
    another = office.clearance(requests[0], DAY_AFTER_S)
    for cleared in (
        b"",
        another,
        flipped(another, 100),
        bytes(CLEARANCE_BYTES),
    ):
        with pytest.raises(PeerError, match=r"not-entitled|bad-signature"):
            office.again(tomorrow, DAY_AFTER_S, cleared)
    with pytest.raises(PeerError, match="for another account"):
        office.clearance(requests[CULPRIT], DAY_AFTER_S, own)
    with pytest.raises(PeerError, match="bad-signature"):
        office.clearance(requests[CULPRIT], DAY_AFTER_S, Entry(secret("made up"), own.token))
    assert office.book.counts()["blamed"] == 1
    later_s = START_S + (EXCLUDED_DAYS + 1) * 86_400
    account = verify_key(requests[CULPRIT].account_seed)
    assert office.registrar.to_clear(account, COLLECTOR, 1, later_s) == [], "and then she takes part again"
    with pytest.raises(PeerError, match="too-late"):
        accuse(body, later_s)


def test_a_new_key_of_the_registrar_shuts_nobody_out() -> None:
    """What the old key signed the new one cannot clear."""
    office = Office("registrar")
    device = secret("device", 0)
    office.entry(device, CODES[0])
    after = another_office().registrar
    after._register = office.book
    account = verify_key(TokenRequest(device, COLLECTOR, office.terms).account_seed)
    assert office.registrar.to_clear(account, COLLECTOR, 1, DAY_AFTER_S) == [PERIOD]
    assert after.to_clear(account, COLLECTOR, 1, DAY_AFTER_S) == []


def test_devices_report_and_clear_themselves_over_the_network(blamed: Blamed) -> None:
    """The honest one gets her next token, and the blamed one is told why she gets none."""
    office, registrar = blamed.office, blamed.office.registrar
    app = registrar_application(registrar, office.book, quiet=True, clock=lambda: DAY_AFTER_S)
    terms = office.terms.model_copy(update={"period": PERIOD + 1})
    devices = [
        Device("u", secret("sign", n), secret("device", n), COLLECTOR, bytes(32), bytes(32))
        for n in (0, CULPRIT)
    ]
    with running(app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal_collect.device.admission.time.time", lambda: DAY_AFTER_S)
        server = RemoteServer(url, key=registrar.public_key)
        reporter = blamed.town.own_rounds[0]
        bodies = [*reporter.accusations, b"nothing", replace(blamed.accusation, frames=()).encode()]
        assert report(server, devices[0], bodies, reporter.entry.signing_seed) == 1
        assert request_entry(server, devices[0], terms, None) == office.entry(
            secret("device", 0), now_s=DAY_AFTER_S
        )
        with pytest.raises(InputError, match="a proof of blame stands against this token"):
            request_entry(server, devices[1], terms, None)
        server.close()
    away = RemoteServer("http://127.0.0.1:1", key=registrar.public_key)
    assert report(away, devices[0], reporter.accusations, reporter.entry.signing_seed) == 0
