"""More than half of a group signs its questions; a collector answers nothing else."""

from collections.abc import Mapping

import pytest

from service_town import Town, identity_of, kinds, seed
from shoal_collect.crypto.sealing import address
from shoal_collect.faults import PeerError
from shoal_collect.roles.group_session import GroupSession, State
from shoal_collect.roles.wire import (
    Batch,
    Call,
    Reply,
    body_digest,
    enough_vouchers,
    longest_vouching,
    read_batch,
    unbundle,
    vouch,
)
from shoal_collect.storage.database import Database

SESSION = seed("session")
SEEDS = [seed("sign", i) for i in range(4)]
MEMBERS = list(map(identity_of, SEEDS))
SLICES = [bytes((at,)) * 148 for at in range(4)]
DIGESTS = tuple(map(body_digest, SLICES))


def of(*places: int, session: bytes = SESSION) -> dict[int, bytes]:
    """The vouchers of these members."""
    return {place: vouch(SEEDS[place], session, DIGESTS) for place in places}


def rows(vouchers: list[tuple[int, bytes]]) -> bytes:
    """A batch with these rows, in this order."""
    text = b"".join(bytes((place,)) + signed for place, signed in vouchers)
    return bytes((len(vouchers),)) + text + b"".join(DIGESTS) + SLICES[0]


def test_more_than_half_of_every_group_is_enough() -> None:
    assert [enough_vouchers(n) for n in (3, 4, 5, 24, 25)] == [2, 3, 3, 13, 13]
    for places in ((0, 1, 2), (1, 2, 3), (0, 1, 2, 3)):
        body = Batch(SLICES[2], DIGESTS, of(*places)).encode()
        batch = read_batch(SESSION, MEMBERS, body)
        assert (batch.records, batch.slices, batch.vouchers) == ([SLICES[2]], DIGESTS, of(*places))
        assert len(body) <= longest_vouching(4) + 148


SOUND = rows(sorted(of(0, 1, 2).items()))
REFUSED: Mapping[str, tuple[bytes, str]] = {
    "nobody": (rows([]), "not-entitled"),
    "half": (rows(sorted(of(0, 1).items())), "not-entitled"),
    "forged": (rows([*of(0, 1).items(), (2, vouch(seed("her own"), SESSION, DIGESTS))]), "bad-signature"),
    "somebody else's": (rows([*of(0, 1).items(), (2, of(3)[3])]), "bad-signature"),
    "doubled": (rows([*of(0, 1).items(), *of(1).items()]), "duplicate"),
    "out of order": (rows([*of(1, 0, 2).items()]), "duplicate"),
    "of nobody": (rows([*of(0, 1).items(), (4, of(3)[3])]), "unknown-member"),
    "of another session": (rows([*of(0, 1).items(), *of(2, session=seed("x")).items()]), "bad-signature"),
    "over other questions": (
        Batch(SLICES[0], (*DIGESTS[:3], body_digest(b"x")), of(0, 1, 2)).encode(),
        "bad-signature",
    ),
    "slices in another order": (
        Batch(SLICES[0], (DIGESTS[1], DIGESTS[0], *DIGESTS[2:]), of(0, 1, 2)).encode(),
        "bad-signature",
    ),
    "not of the set": (Batch(b"x" * 148, DIGESTS, of(0, 1, 2)).encode(), "not-entitled"),
    "empty": (b"", "bad-length"),
    "rows announced that are not there": (b"\xff" + SOUND[1:], "unknown-member"),
    **{f"cut at {at}": (SOUND[:at], "bad-length") for at in (1, 70, 196, 323, 324)},
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_batch_without_sound_vouchers_is_refused_by_name(what: str) -> None:
    read_batch(SESSION, MEMBERS, SOUND)
    body, kind = REFUSED[what]
    with pytest.raises(PeerError) as caught:
        read_batch(SESSION, MEMBERS, body)
    assert caught.value.kind == kind


def is_voucher(call: Call) -> bool:
    """The eighth letter that a member sends: after the seven of the first mix."""
    return call.target == "/v1/letters" and address(unbundle(call.body)[0])[3] == 7


def lose_vouchers(town: Town, *senders: int) -> None:
    """They are sent, and never arrive."""
    honest, lost = (
        town.answer,
        {identity_of(town.own_rounds[number].entry.signing_seed) for number in senders},
    )

    def lose(identity: bytes, call: Call) -> Reply:
        return Reply(200, b"{}") if identity in lost and is_voucher(call) else honest(identity, call)

    town.answer = lose  # type: ignore[method-assign]  # the line


def at_vouching(town: Town) -> GroupSession:
    """The first member, whom no voucher of another reaches; the others go on with hers."""
    lose_vouchers(town, 1, 2)
    for _ in range(100):
        for number in town.own_rounds:
            town.step(number)
    sessions = [one._session for one in town.own_rounds.values()]
    stages = [one.stage for one in sessions if one is not None]
    assert stages == [State.VOUCHING, State.ASKING, State.ASKING]
    assert sessions[0] is not None
    return sessions[0]


def test_nobody_asks_before_more_than_half_has_signed_the_same() -> None:
    with Database() as database:
        town = Town(database, 3)
        session = at_vouching(town)
        me, other = session.group.me, (session.group.me + 1) % 3
        whose = SEEDS[MEMBERS.index(session.group.identities[other])]
        channel, slices = session.group.channel, session._slices
        own = vouch(SEEDS[0], channel, slices)
        for text in (
            b"",
            bytes((me,)) + own,
            bytes((other,)) + own,
            bytes((other,)) + vouch(whose, channel, slices[::-1]),
            bytes((other,)) + vouch(whose, seed("another"), slices),
            bytes((other,)) + vouch(whose, channel, slices)[:-1],
            bytes((3,)) + vouch(whose, channel, slices),
        ):
            session._take_voucher(text)
            assert session.stage is State.VOUCHING, "not heard"
        session._take_voucher(bytes((other,)) + vouch(whose, channel, slices))
        assert session.stage is State.ASKING


def test_without_vouchers_a_round_ends_and_nothing_was_asked() -> None:
    with Database() as database:
        town = Town(database, 3)
        lose_vouchers(town, 0, 1, 2)
        endings = town.run()
        assert kinds(endings) == {"failed"}
        assert all("did not come in time" in one.message for one in endings.values())
        assert database.rows("SELECT * FROM asked") == []
