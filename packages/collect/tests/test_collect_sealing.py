"""Sealed letters: what goes in comes out once, in turn, for its receiver.

Everything else has a name and leaves no trace.
"""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_sign_seed_keypair
from nacl.public import Box, PrivateKey, PublicKey
from nacl.signing import SigningKey

from mix_runs import seed
from shoal.errors import MisuseError
from shoal_collect.crypto.sealing import MAX_TEXT_BYTES, OVERHEAD_BYTES, Correspondence, mailbox_key
from shoal_collect.device.disk import decode, encode
from shoal_collect.faults import PeerError

N = 3
IDENTITIES = [bytes(crypto_sign_seed_keypair(seed("identity", i))[0]) for i in range(N)]
NAME = seed("a session")


def member(me: int, *, name: bytes = NAME, who: int | None = None) -> Correspondence:
    return Correspondence(name, IDENTITIES, me, seed("identity", me if who is None else who))


def refused(kind: str, receiver: Correspondence, letter: bytes) -> None:
    before = list(receiver._received)
    with pytest.raises(PeerError) as caught:
        receiver.open(letter)
    assert caught.value.kind == kind
    assert receiver._received == before


@given(
    st.lists(
        st.tuples(st.sampled_from(list(itertools.permutations(range(N), 2))), st.binary(max_size=60)),
        max_size=12,
    )
)
def test_letters_arrive_once_and_in_turn(plan: list[tuple[tuple[int, int], bytes]]) -> None:
    members = [member(i) for i in range(N)]
    counts: dict[tuple[int, int], int] = {}
    for (sender, receiver), text in plan:
        letter = members[sender].seal(receiver, text)
        assert len(letter) == OVERHEAD_BYTES + len(text)
        assert len(text) < 8 or text not in letter
        assert members[receiver].open(letter) == text
        refused("duplicate", members[receiver], letter)
        counts[sender, receiver] = counts.get((sender, receiver), 0) + 1
    assert sum(counts.values()) == len(plan)
    for (sender, receiver), count in counts.items():
        assert members[sender]._sent[receiver] == members[receiver]._received[sender] == count


def test_each_letter_has_a_fresh_key() -> None:
    """The same device, text and number: a copied disk seals under another key."""
    letters = [member(0).seal(1, b"text") for _ in range(2)]
    assert letters[0][44:76] != letters[1][44:76]
    assert [member(1).open(letter) for letter in letters] == [b"text", b"text"]


def test_order_and_replay() -> None:
    sender, receiver = member(0), member(1)
    first, second, third = (sender.seal(1, bytes((i,))) for i in range(3))
    refused("out-of-order", receiver, second)
    receiver.open(first)
    refused("duplicate", receiver, first)
    refused("out-of-order", receiver, third)
    assert receiver.open(second) == b"\x01"
    resumed = decode(encode(receiver))
    refused("duplicate", resumed, second)
    assert resumed.open(third) == b"\x02"


def test_letters_for_others_other_sessions_and_forgeries_are_named() -> None:
    good = member(0).seal(1, b"text")
    other_identities = [IDENTITIES[0], IDENTITIES[1], bytes(crypto_sign_seed_keypair(seed("stranger"))[0])]
    same_name = Correspondence(NAME, [IDENTITIES[2], *IDENTITIES[:2]], 1, seed("identity", 0))
    cases: list[tuple[str, Correspondence, bytes]] = [
        ("wrong-receiver", member(2), good),
        ("wrong-session", member(1, name=seed("another")), good),
        ("unknown-member", member(1), good[:38] + b"\x07" + good[39:]),
        ("unknown-member", member(1), good[:38] + b"\x01" + good[39:]),
        ("bad-seal", member(2), good[:39] + b"\x02" + good[40:]),  # readdressed
        ("bad-seal", member(1), good[:38] + b"\x02" + good[39:]),  # under another's name
        ("bad-seal", member(1), good[:40] + b"\x00\x00\x00\x01" + good[44:]),  # renumbered
        ("bad-seal", member(1), good[:-1] + bytes((good[-1] ^ 1,))),
        ("bad-seal", same_name, good),  # in a group where other people have these places
        ("bad-seal", member(1), good[:44] + bytes(32) + good[76:]),
        ("bad-frame", member(1), b"x" + good[1:]),
        ("bad-length", member(1), good[: OVERHEAD_BYTES - 1]),
        ("bad-length", member(1), good + bytes(MAX_TEXT_BYTES)),
        ("bad-length", member(1), b""),
    ]
    for kind, receiver, letter in cases:
        refused(kind, receiver, letter)
    thief = Correspondence(NAME, other_identities, 2, seed("stranger"))
    refused(
        "bad-signature", member(1), thief.seal(1, b"text")
    )  # sealed well, by somebody who is not member 2
    assert member(1).open(good) == b"text"


def test_a_letter_cannot_be_passed_on_as_if_written_to_another() -> None:
    """Whoever opens a letter holds its sender's signature; sealed again for somebody else it does not fit."""
    first = member(0).seal(1, b"yes")
    for place in range(len(first)):
        mutated = bytearray(first)
        mutated[place] ^= 0x40
        with pytest.raises(PeerError):
            member(1).open(bytes(mutated))

    class PassesOn(Correspondence):
        def _signed_text(self, head: bytes) -> bytes:
            return super()._signed_text(first[:44])  # signs, as member 0 once did, for the place of member 1

    forged = PassesOn(NAME, IDENTITIES, 0, seed("identity", 0)).seal(2, b"yes")
    refused("bad-signature", member(2), forged)


@given(st.binary(max_size=300))
def test_random_bytes_are_no_letter(letter: bytes) -> None:
    with pytest.raises(PeerError):
        member(1).open(letter)


def test_misuse_is_told() -> None:
    bad: list[Callable[[], object]] = [
        lambda: member(0).seal(0, b""),
        lambda: member(0).seal(N, b""),
        lambda: member(0).seal(1, bytes(MAX_TEXT_BYTES + 1)),
        lambda: member(0, who=1),
        lambda: member(0, name=b"short"),
        lambda: Correspondence(NAME, [IDENTITIES[0]] * 2, 0, seed("identity", 0)),
    ]
    for call in bad:
        with pytest.raises(MisuseError):
            call()
    full = member(0)
    full._sent[1] = 2**32
    with pytest.raises(MisuseError, match="another one"):
        full.seal(1, b"")
    for identity in (bytes(31), bytes(32), b"\x02" + bytes(31)):
        with pytest.raises(PeerError, match="bad-element"):
            mailbox_key(identity)


def test_mailbox_keys_are_those_of_the_library() -> None:
    """Both halves of an identity, mapped apart, agree on a secret with anybody else."""
    mine, other = SigningKey(seed("identity", 0)), PrivateKey(seed("other"))
    assert mailbox_key(IDENTITIES[0]) == bytes(mine.verify_key.to_curve25519_public_key())
    there = Box(mine.to_curve25519_private_key(), other.public_key)
    back = Box(other, PublicKey(mailbox_key(IDENTITIES[0])))
    assert there.shared_key() == back.shared_key()
