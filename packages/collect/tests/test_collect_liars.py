"""What a lying collector, a hostile member or somebody on the line tries against a device."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from nacl.bindings import (
    crypto_core_ed25519_add,
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_base_noclamp,
)

from service_town import (
    PLACES,
    START_S,
    TERMS,
    TODAY,
    Town,
    device_for,
    identity_of,
    kinds,
    own_round_for,
    running,
    seed,
    volunteers,
)
from shoal.errors import InputError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import require_signature, signature
from shoal_collect.device.http_client import RemoteServer, run_round
from shoal_collect.faults import PeerError
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.admission import Entry
from shoal_collect.roles.lottery import LotteryPart
from shoal_collect.roles.terms import read_terms
from shoal_collect.roles.wire import ANSWER_BYTES, DAY_S, Call, Reply, bundles, read_json, unbundle
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

pytestmark = pytest.mark.usefixtures("quick_mixes")


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as opened:
        yield opened


@pytest.mark.parametrize("status", [200, 201, 206, 302])
def test_a_reply_that_is_no_error_must_be_signed_whatever_its_status(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody on the line answers in the collector's place."""
    device = device_for(0, seed("server"), Town(Database(), 3).book)
    server = RemoteServer("http://127.0.0.1:1")
    monkeypatch.setattr(server, "_exchange", lambda *_: (Reply(status, b'{"stored": true}'), None))
    with pytest.raises(PeerError, match="bad-signature"):
        server.send(Call("POST", "/v1/groups/x/releases"), device, START_S)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"<html>no such page"),
        (429, b""),
        (408, b"{}"),
        (503, b"busy"),
        (404, b'{"error": "wrong-session", "message": "the word of another server"}'),
    ],
)
def test_the_word_of_a_proxy_ends_no_round(status: int, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    own_round = Town(Database(), 3).own_rounds[0]
    server = RemoteServer("http://127.0.0.1:1")
    monkeypatch.setattr(server, "_exchange", lambda *_: (Reply(status, body), None))
    with pytest.raises(InputError, match="goes on from here"):
        run_round(
            own_round, {"collector": server}, lambda: None, lambda _: None, poll_s=0.01, patience_s=0.15
        )
    assert own_round.ending is None


def test_a_signature_has_one_length_and_a_key_too() -> None:
    """What is signed for one purpose could end with what another purpose signs.

    A longer signature would hide the beginning.
    """
    inner = b"the text of another purpose"
    other = hashlib.blake2b(b"receipt", digest_size=32, person=b"shoal purpose").digest() + inner
    signed = signature(seed("signer"), b"reply", b"first part" + other)
    moved = (
        signed + hashlib.blake2b(b"reply", digest_size=32, person=b"shoal purpose").digest() + b"first part"
    )
    with pytest.raises(PeerError, match="bad-signature"):
        require_signature(identity_of(seed("signer")), b"receipt", inner, moved)
    for key in (b"", b"x" * 31, identity_of(seed("signer")) + b"x"):
        with pytest.raises(PeerError, match="bad-signature"):
            require_signature(key, b"receipt", inner, signature(seed("signer"), b"receipt", inner))


def test_a_release_that_others_stored_counts_as_hers_though_she_never_heard_of_it(database: Database) -> None:
    """Otherwise she would be one of the k others in her own crowd."""
    volunteers(PhiStore(database), 3, TODAY - 1)
    town = Town(database, 3)
    town.tamper = lambda number, call: None if number == 1 and call.target.endswith("/releases") else call
    endings = town.run(most_s=3_000)
    assert {endings[i].kind for i in (0, 2)} == {"shared"}
    assert town.n_records == 6, "hers, too"
    town.tamper = lambda _, call: call
    for number, own_round in town.own_rounds.items():
        town.own_rounds[number] = own_round_for(own_round.device, 5, name="again")
    town.now_s += DAY_S
    endings = town.run()
    assert {phi for one in endings.values() for phi in one.checked.values()} == {5}, (
        "three volunteers and two others, for her as well"
    )


def lying(town: Town, change: Callable[[Call, Any], Any]) -> None:
    honest = town.answer

    def lie(identity: bytes, call: Call) -> Reply:
        reply = honest(identity, call)
        return reply if reply.status != 200 else Reply(200, change(call, reply.body))

    town.answer = lie  # type: ignore[method-assign]  # the lie


@pytest.mark.parametrize("days", [-3, 2])
def test_answers_from_the_state_of_another_day_are_refused(database: Database, days: int) -> None:
    """Of old, when somebody else's release was not there yet, or of tomorrow, to watch counts move."""
    volunteers(PhiStore(database), 3, TODAY - 1)
    town = Town(database, 3)

    def of_another_day(call: Call, body: bytes) -> bytes:
        if not call.target.endswith("/questions"):
            return body
        parts = [body[at : at + ANSWER_BYTES] for at in range(0, len(body), ANSWER_BYTES)]
        bodies = [one[:34] + (int.from_bytes(one[34:38]) + days).to_bytes(4) + one[38:70] for one in parts]
        return b"".join(one + signature(town.server_seed, b"answer", one) for one in bodies)

    lying(town, of_another_day)
    endings = town.run()
    assert kinds(endings) == {"failed"}
    assert any("another day" in one.message for one in endings.values())
    assert town.n_records == 3, "the volunteers' alone"


def view_of(
    round_name: bytes, phase: str, restarts: object, seeds: list[bytes], commits: dict[str, str] | None = None
) -> dict[str, Any]:
    text = TERMS.join_text(round_name)
    return {
        "round": round_name.hex(),
        "phase": phase,
        "terms": TERMS.model_dump(),
        "restarts": restarts,
        "roster": {identity_of(one).hex(): signature(one, b"join", text).hex() for one in seeds},
        "commits": commits or {},
        "reveals": {},
        "token_key": "",
    }


def test_a_collector_cannot_draw_the_lots_until_it_likes_them() -> None:
    """It sees every secret first: each further start would be a further try at the groups."""
    people, name = [seed("sign", i) for i in range(5)], bytes(32)
    lottery = LotteryPart(Entry(people[0]), seed("server"), TERMS, Chance(seed("x")))
    lottery.take_view(view_of(name, "joining", 0, []))
    for restarts in (0, 1, 2):
        assert lottery.take_view(view_of(name, "committing", restarts, people[: 5 - restarts])), (
            "two restarts are allowed"
        )
    with pytest.raises(PeerError, match="bad-answer"):
        lottery.take_view(view_of(name, "committing", 3, people[:3]))


def test_a_frozen_roster_takes_nobody_in() -> None:
    people, name = [seed("sign", i) for i in range(5)], bytes(32)
    for later in ([*people[:3], people[4]], people, people[1:]):
        lottery = LotteryPart(Entry(people[0]), seed("server"), TERMS, Chance(seed("x")))
        lottery.take_view(view_of(name, "joining", 0, []))
        lottery.take_view(view_of(name, "committing", 0, people[:4]))
        if people[0] not in later:
            assert lottery.take_view(view_of(name, "committing", 1, later)) == [], (
                "she was left out herself, and looks for the next round"
            )
            continue
        with pytest.raises(PeerError, match="bad-answer"):
            lottery.take_view(view_of(name, "committing", 1, later))


@pytest.mark.parametrize("restarts", [-1, 256, float("inf"), float("nan"), None, "x"])
def test_numbers_that_are_none_are_refused_by_name(restarts: object) -> None:
    lottery = LotteryPart(Entry(seed("sign", 0)), seed("server"), TERMS, Chance(seed("x")))
    lottery.take_view(view_of(bytes(32), "joining", 0, []))
    with pytest.raises(PeerError):
        lottery.take_view(view_of(bytes(32), "committing", restarts, [seed("sign", 0)]))


@pytest.mark.parametrize("body", [b"[]", b'{"stored": true, "receipts": 3}'])
def test_bodies_that_nobody_sends_end_a_round_in_words(database: Database, body: bytes) -> None:
    town = Town(database, 3)
    lying(town, lambda call, said: body if call.target.endswith("/releases") else said)
    endings = town.run()
    assert kinds(endings) == {"failed"}
    assert all("may be stored" in one.message for one in endings.values()), (
        "she is told that her release may be out"
    )


def test_depth_is_no_way_to_crash_a_reader() -> None:
    with pytest.raises(PeerError, match="bad-frame"):
        read_json(b"[" * 200_000)
    assert Reply(403, b"[" * 200_000).refusal == ("unavailable", "status 403")


def test_circles_are_drawn_anew_once_a_year_at_most() -> None:
    """Fresh draws around one place average out, so no collector may ask for them more often."""
    with pytest.raises(PeerError, match="out-of-range"):
        read_terms({"period_days": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"lat_deg": (95.0, 1.0)},
        {"lon_deg": (float("nan"), 1.0)},
        {"weights": (10**400, 1)},
        {"weights": (-1, 1)},
        {"lon_deg": (1.0,)},
        {"weights": (0, 0)},
        {"first_min": -1},
        {"last_min": 2**40},
    ],
)
def test_places_that_are_none_are_refused_before_anybody_consents(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        PublicPlaces.model_validate({**PLACES.model_dump(), **change})


def test_fakes_are_as_new_as_real_trips_however_long_a_server_runs() -> None:
    later = PLACES.until(START_S + 400 * DAY_S)
    assert (later.last_min, later.last_min - later.first_min) == (
        int(START_S // 60) + 400 * 1440,
        PLACES.last_min - PLACES.first_min,
    )
    with Database() as database:
        app = collector_application(
            database,
            seed("server"),
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=60),
            lambda n: seed("draw")[:n],
            clock=lambda: START_S + 400 * DAY_S,
            quiet=True,
        )
        with running(app) as url:
            server = RemoteServer(url)
            assert PublicPlaces.model_validate(server.about()["places"]) == later
            server.close()


def torsion() -> bytes:
    """A point of order 8."""
    return bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")


def test_an_identity_that_nobody_can_write_to_is_refused_at_the_roster(database: Database) -> None:
    """Its signatures hold (one in eight tries), but no letter can be sealed to it.

    It would stop every group that it falls into.
    """
    town = Town(database, 3)
    view = town.rounds.open_round(town.now_s)
    name = bytes.fromhex(view["round"])
    secret = bytes(crypto_core_ed25519_scalar_reduce(seed("a") + seed("b")))
    bad = bytes(crypto_core_ed25519_add(crypto_scalarmult_ed25519_base_noclamp(secret), torsion()))
    text = hashlib.blake2b(b"join", digest_size=32, person=b"shoal purpose").digest() + TERMS.join_text(name)
    for attempt in range(200):
        nonce = bytes(crypto_core_ed25519_scalar_reduce(seed(attempt) + seed("nonce", attempt)))
        announced = bytes(crypto_scalarmult_ed25519_base_noclamp(nonce))
        asked = bytes(crypto_core_ed25519_scalar_reduce(hashlib.sha512(announced + bad + text).digest()))
        signed = announced + bytes(
            crypto_core_ed25519_scalar_add(nonce, crypto_core_ed25519_scalar_mul(asked, secret))
        )
        try:
            require_signature(bad, b"join", TERMS.join_text(name), signed)
            break
        except PeerError:
            continue
    else:
        pytest.fail("the forgery never held")
    with pytest.raises(PeerError, match="bad-element"):
        town.rounds.join(name, bad, signed, town.now_s)


def test_no_letter_is_longer_than_the_terms_can_need(database: Database) -> None:
    """With letters of 16 MiB a member could put 1 GiB into the mailbox of each of the others."""
    town, first, letter = with_a_letter(database)
    longest = town.terms.letter_bytes
    assert len(letter) < longest < 250_000
    assert town.mailbox.send(first, bundles([letter.ljust(longest, b"x")])[0], town.now_s) == 1
    with pytest.raises(PeerError, match="bad-length"):
        town.mailbox.send(
            first, bundles([letter[:43] + bytes((9,)) + letter[44:].ljust(longest, b"x")])[0], town.now_s
        )
    town.run()
    sent = [
        len(one) for _, call, _ in town.calls if call.target == "/v1/letters" for one in unbundle(call.body)
    ]
    assert max(sent) <= longest


def with_a_letter(database: Database) -> tuple[Town, bytes, bytes]:
    """A town whose group is drawn, one of its members, and the first letter that she is about to send."""
    town = Town(database, 3)
    while not any(
        one.waiting_calls and one.waiting_calls[0].target == "/v1/letters" for one in town.own_rounds.values()
    ):
        for number in town.own_rounds:
            town.step(number)
    own_round = next(
        one
        for one in town.own_rounds.values()
        if one.waiting_calls and one.waiting_calls[0].target == "/v1/letters"
    )
    return town, identity_of(own_round.device.signing_seed), unbundle(own_round.waiting_calls[0].body)[0]


def test_a_mailbag_is_never_longer_than_its_receiver_reads(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two letters that fill it to the byte would stop their receiver for ever.

    The lengths before them count, too.
    """
    town, first, letter = with_a_letter(database)
    again = letter[:43] + bytes((1,)) + letter[44:]
    monkeypatch.setattr("shoal_collect.server.mailbox.BATCH_BYTES", 2 * len(letter))
    assert town.mailbox.send(first, bundles([letter, again])[0], town.now_s) == 2
    owner = bytes(database.rows("SELECT owner FROM letter")[0][0])
    assert len(town.mailbox.fetch(owner, 0)) <= 2 * len(letter)
