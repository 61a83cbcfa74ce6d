"""A copied or rolled back disk proves two statements with one state, and gives no secret away."""

import dataclasses
from collections.abc import Callable, Sequence

import pytest
from gmpy2 import invert, mpz

from mix_runs import records_of, seed, session_of
from shoal_collect.crypto import elgamal, envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext, combined_key
from shoal_collect.mix.member import Member
from shoal_collect.mix.messages import Hop, Key, Session, decode_list

Entropy = Callable[[int], bytes] | None
KINDS = pytest.mark.parametrize("entropy", [None, bytes], ids=["fresh", "without entropy"])


def copy_of(session: Session, entropy: Entropy) -> Member:
    """The first of three members, from the same disk each time."""
    member = Member(session, 0, seed("identity", 0), records_of(session, 0), Chance(seed("one disk")))
    if entropy is not None:
        member.draw_fresh = entropy
    return member


def secret_of(order: int, proofs: Sequence[tuple[int, int]]) -> int:
    """The secret, from two challenges and answers, if their nonces are equal."""
    (challenge, answer), (another, second) = proofs
    return int((answer - second) * invert(challenge - another, order) % order)


@KINDS
def test_two_groups_of_one_disk_do_not_learn_her_share(entropy: Entropy) -> None:
    shares, inner = list[tuple[int, int]](), list[tuple[int, int]]()
    key = None
    for name in ("one group", "another"):
        session = session_of(3, 1, name=name)
        key = Key.decode(session, copy_of(session, entropy)._make_key())
        group, context = session.group, session.context(0)
        challenge = elgamal._challenge(group, b"key", context, [key.share, key.proof.announced])
        shares.append((int(challenge), int(key.proof.response)))
        announced, answer = key.inner_proof[:32], int.from_bytes(key.inner_proof[32:], "little")
        inner.append((int.from_bytes(envelope._challenge(key.inner, announced, context), "little"), answer))
    assert key is not None
    assert group.power(group.g, mpz(secret_of(int(group.q), shares))) != key.share
    found = secret_of(envelope._ORDER, inner)
    assert not envelope.is_secret_of(found.to_bytes(32, "little"), key.inner)


@KINDS
def test_a_hop_over_another_list_gives_away_neither_share_nor_order(entropy: Entropy) -> None:
    session = dataclasses.replace(session_of(3, 4, name="one group"))
    group, context, secret = session.group, session.context(0), mpz(987_654_321)
    y = group.power(group.g, secret)
    chance = Chance(seed("lists"))
    lists = [
        [
            elgamal.encrypt(group, y, group.encode(bytes((i,)) * 8, 8), chance)
            for i in range(session.n * session.n_records)
        ]
        for _ in range(2)
    ]
    proofs, ratios = list[tuple[int, int]](), list[set[mpz]]()
    share = mpz(0)
    for before in lists:
        member = copy_of(session, entropy)
        key = Key.decode(session, member._make_key())
        member._keys, member._list, share = [key, key, key], tuple(before), key.share
        hop = Hop.decode(session, member._make_hop(), last=False)
        announced = hop.proof.announced_key, hop.proof.announced_list
        elements = [share, *elgamal.flatten(before), *hop.stripped, *announced]
        challenge = elgamal._challenge(group, b"strip", context, elements)
        proofs.append((int(challenge), int(hop.proof.response)))
        ratios.append({group.over(one.c1, old.c1) for one in hop.shuffled for old in before})
    assert group.power(group.g, mpz(secret_of(int(group.q), proofs))) != share
    assert not ratios[0] & ratios[1], "an equal mask would show where a record went"


@KINDS
def test_the_same_state_under_another_key_masks_anew(entropy: Entropy) -> None:
    session = session_of(3, 2, name="one group")
    group, first = session.group, list[set[mpz]]()
    for others in (mpz(2), mpz(5)):
        member = copy_of(session, entropy)
        key = Key.decode(session, member._make_key())
        other = dataclasses.replace(key, share=group.power(group.g, others))
        member._keys = [key, other, other]
        listed: tuple[Ciphertext, ...] = decode_list(session, member._make_input())
        first.append({one.c1 for one in listed})
        assert combined_key(group, [one.share for one in member._keys]) != key.share
    assert not first[0] & first[1]
