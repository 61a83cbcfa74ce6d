"""Group, envelopes, groups of members, authority: the paper's own answers, brute force, and bad input."""

from collections import Counter

import gmpy2
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

import collect_costs as costs
from in_process import ClaimsInMemory
from mix_runs import SMALL, seed
from shoal_collect.crypto import elgamal, envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import FFDHE3072, Group
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import (
    Cylinder,
)
from shoal_collect.roles.authority import claim, receipt
from shoal_collect.roles.lottery import Lottery, commitment, divide

seeds = st.integers(0, 10**6).map(lambda number: seed("test", number))
cylinders = st.builds(
    Cylinder,
    st.integers(0, 2**31),
    st.integers(0, 65_535),
    st.integers(-90_000_000, 90_000_000),
    st.integers(-180_000_000, 179_999_999),
    st.integers(0, 65_535),
)


# the group


def test_the_prime_is_the_one_of_rfc_7919() -> None:
    with gmpy2.context(precision=4000):
        e = int(gmpy2.floor(gmpy2.mul_2exp(gmpy2.exp(gmpy2.mpfr(1)), 2942)))
    assert FFDHE3072.p == 2**3072 - 2**3008 + (e + 2_625_351) * 2**64 - 1
    assert gmpy2.is_prime(FFDHE3072.q, 5)
    assert FFDHE3072.power(FFDHE3072.g, FFDHE3072.q) == 1


def test_a_hand_worked_run_modulo_23(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares 4^3 = 18, 4^5 = 12, y = 18 * 12 = 9. 13 under phi = 2 is (4^2 = 16, 13 * 9^2 = 18).

    Stripped of 3: 18 / 16^3 = 18 / 2 = 9. Re-masked for the second with phi = 3: (16 * 4^3 = 12, 9 * 12^3 =
    4). Stripped of 5: 4 / 12^5 = 4 / 18 = 13; and without re-masking 9 / 16^5 = 9 / 6 = 13.
    """
    toy, masks = Group(mpz(23), mpz(4)), [mpz(2), mpz(3)]
    monkeypatch.setattr(Group, "draw_secret", lambda _group, _chance: masks.pop(0))
    assert [toy.power(toy.g, mpz(a)) for a in (3, 5)] == [18, 12]
    assert elgamal.combined_key(toy, [mpz(18), mpz(12)]) == 9
    assert elgamal.encrypt(toy, mpz(9), mpz(13), Chance(bytes(32))) == elgamal.Ciphertext(mpz(16), mpz(18))
    once = elgamal.strip(toy, mpz(3), elgamal.Ciphertext(mpz(16), mpz(18)))
    assert once == elgamal.Ciphertext(mpz(16), mpz(9))
    masked = elgamal.remask_with(toy, mpz(12), once, toy.draw_secret(Chance(bytes(32))))
    assert masked == elgamal.Ciphertext(mpz(12), mpz(4))
    assert elgamal.strip(toy, mpz(5), masked).c2 == elgamal.strip(toy, mpz(5), once).c2 == 13


@given(st.binary(min_size=20, max_size=20))
def test_texts_become_members_and_come_back(text: bytes) -> None:
    element = SMALL.encode(text, 20)
    assert SMALL.from_bytes(SMALL.to_bytes(element)) == element
    assert SMALL.decode(element, 20) == text


def test_what_is_no_member_is_refused() -> None:
    non_residue = SMALL.p - mpz(4)
    for number in (0, 1, SMALL.p - 1, SMALL.p, SMALL.p + 4, non_residue):
        with pytest.raises(PeerError, match="bad-element"):
            SMALL.from_bytes(int(number).to_bytes(SMALL.element_bytes))
    for length in (0, SMALL.element_bytes - 1, SMALL.element_bytes + 1):
        with pytest.raises(PeerError, match="bad-length"):
            SMALL.from_bytes(bytes(length))


@given(seeds, st.integers(3, 5))
def test_all_must_strip_and_remasking_changes_everything_but_the_text(start: bytes, n: int) -> None:
    chance = Chance(start)
    secrets = [SMALL.draw_secret(chance) for _ in range(n)]
    shares = [SMALL.power(SMALL.g, secret) for secret in secrets]
    plain = SMALL.encode(b"twelve bytes", 12)
    ciphertext = elgamal.encrypt(SMALL, elgamal.combined_key(SMALL, shares), plain, chance)
    for place, secret in enumerate(secrets):
        assert ciphertext.c2 != plain
        ciphertext = elgamal.strip(SMALL, secret, ciphertext)
        if place < n - 1:
            rest = elgamal.combined_key(SMALL, shares[place + 1 :])
            fresh = elgamal.remask_with(SMALL, rest, ciphertext, SMALL.draw_secret(chance))
            assert fresh.c1 != ciphertext.c1
            assert fresh.c2 != ciphertext.c2
            ciphertext = fresh
    assert ciphertext.c2 == plain


def test_exponentiations_are_as_many_as_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    done: Counter[str] = Counter()
    real = Group.secret_power

    def counted(self: Group, base: mpz, exponent: mpz) -> mpz:
        done["powers"] += 1
        return real(self, base, exponent)

    monkeypatch.setattr(Group, "secret_power", counted)
    n, s, chance = 3, 4, Chance(bytes(32))
    secrets = [SMALL.draw_secret(chance) for _ in range(n)]
    per_member = [Counter[str]() for _ in range(n)]
    shares, lists = [], []
    for place, secret in enumerate(secrets):
        done.clear()
        shares.append(SMALL.secret_power(SMALL.g, secret))
        per_member[place] += done
    y = elgamal.combined_key(SMALL, shares)
    for place in range(n):
        done.clear()
        lists += [elgamal.encrypt(SMALL, y, SMALL.encode(bytes(8), 8), chance) for _ in range(s)]
        per_member[place] += done
    for place, secret in enumerate(secrets):
        done.clear()
        lists = [elgamal.strip(SMALL, secret, one) for one in lists]
        if place < n - 1:
            rest = elgamal.combined_key(SMALL, shares[place + 1 :])
            lists = [elgamal.remask_with(SMALL, rest, one, SMALL.draw_secret(chance)) for one in lists]
        per_member[place] += done
    assert [counter["powers"] for counter in per_member] == [
        costs.exponentiations(n, s, place) for place in range(n)
    ]
    assert costs.exponentiations(n, s, 0) == 1 + 2 * s + 3 * n * s
    assert costs.paper_exponentiations(n, s) == costs.exponentiations(n, s, n - 1) == 1 + 2 * s + n * s


def test_the_papers_message_counts() -> None:
    assert [costs.paper_messages(3, place) for place in range(3)] == [12, 13, 14]
    for n in range(3, 17):
        assert [costs.paper_messages(n, place) for place in (0, 1, n - 1)] == [4 * n, 4 * n + 1, 5 * n - 1]


def test_proofs_hold_and_any_change_breaks_them() -> None:
    chance = Chance(seed("proofs"))
    secret = SMALL.draw_secret(chance)
    share = SMALL.power(SMALL.g, secret)
    proof = elgamal.prove_key(SMALL, secret, share, b"session", chance)
    elgamal.require_key_proof(SMALL, share, proof, b"session")
    for bad_share, context in ((share, b"other"), (SMALL.times(share, SMALL.g), b"session")):
        with pytest.raises(PeerError, match="bad-proof"):
            elgamal.require_key_proof(SMALL, bad_share, proof, context)
    before = [elgamal.encrypt(SMALL, share, SMALL.encode(bytes((i,)) * 8, 8), chance) for i in range(5)]
    after = [elgamal.strip(SMALL, secret, one).c2 for one in before]
    stripped = elgamal.prove_strip(SMALL, secret, share, before, after, b"s", chance)
    elgamal.require_strip_proof(SMALL, share, before, after, stripped, b"s")
    swapped = [after[1], after[0], *after[2:]]
    shifted = [SMALL.times(after[0], SMALL.g), SMALL.over(after[1], SMALL.g), *after[2:]]
    for wrong in (swapped, shifted):
        with pytest.raises(PeerError, match="bad-proof"):
            elgamal.require_strip_proof(SMALL, share, before, wrong, stripped, b"s")
        forged = elgamal.prove_strip(SMALL, secret, share, before, wrong, b"s", chance)
        with pytest.raises(PeerError, match="bad-proof"):
            elgamal.require_strip_proof(SMALL, share, before, wrong, forged, b"s")


def test_envelopes_need_every_key() -> None:
    chance = Chance(seed("envelope"))
    secrets = [envelope.draw_secret(chance) for _ in range(3)]
    points = [envelope.public_key(secret) for secret in secrets]
    sealed = envelope.seal(b"record", envelope.combined_key(points), b"s", chance)
    assert envelope.unseal(sealed, envelope.combined_secret(secrets), b"s") == b"record"
    for secret, context in (
        (envelope.combined_secret(secrets[:2]), b"s"),
        (envelope.combined_secret(secrets), b"t"),
    ):
        with pytest.raises(PeerError, match="bad-record"):
            envelope.unseal(sealed, secret, context)
    proof = envelope.prove(secrets[0], points[0], b"s", chance)
    envelope.require_proof(points[0], proof, b"s")
    for bad in (proof[:32] + bytes(32), proof[:-1] + bytes((proof[-1] ^ 1,))):
        with pytest.raises(PeerError):
            envelope.require_proof(points[0], bad, b"s")
    with pytest.raises(PeerError, match="bad-element"):
        envelope.require_point(bytes(32))


# groups and the authority


def test_groups_are_of_n_or_one_more_and_nobody_chose_them() -> None:
    people = [seed("person", i) for i in range(17)]
    groups, waiting = divide(bytes(32), people, 4)
    assert sorted(map(len, groups)) == [4, 4, 4, 5]
    assert sorted([one for group in groups for one in group] + list(waiting)) == sorted(people)
    assert len(divide(bytes(32), people[:5], 3)[1]) == 1
    first = Counter(divide(seed("lot", i), people[:4], 4)[0][0][0] for i in range(2000))
    assert max(abs(seen - 500) for seen in first.values()) < 80  # 4 standard deviations


def test_lots_need_everybody_and_start_again_at_most_twice() -> None:
    people = tuple(seed("person", i) for i in range(4))
    lottery = Lottery(b"round", people)
    for one in people:
        lottery.commit(one, commitment(lottery.roster, one, seed("secret", one)))
    with pytest.raises(PeerError, match="duplicate"):
        lottery.commit(people[0], bytes(32))
    with pytest.raises(PeerError, match="bad-commitment"):
        lottery.reveal(people[0], seed("another"))
    with pytest.raises(PeerError, match="unknown-member"):
        lottery.commit(b"stranger", bytes(32))
    for one in people[:3]:
        lottery.reveal(one, seed("secret", one))
    assert lottery.seed is None
    again = lottery.without_silent()
    assert again.identities == people[:3]
    assert again.roster != lottery.roster
    with pytest.raises(PeerError, match="too-late"):
        again.without_silent().without_silent()


def test_only_the_owner_of_a_release_can_claim_it() -> None:
    chance = Chance(seed("claims"))
    from nacl.bindings import crypto_sign_seed_keypair

    collector, owner, thief = (seed(name) for name in ("collector", "owner", "thief"))
    key_of = {name: bytes(crypto_sign_seed_keypair(name)[0]) for name in (collector, owner, thief)}
    authority = ClaimsInMemory(envelope.draw_secret(chance), frozenset({key_of[collector]}))
    given_receipt = receipt(collector, "ab" * 16, key_of[owner])
    authority.take(claim(given_receipt, "alice", owner, authority.public_key, chance))
    authority.take(claim(given_receipt, "alice", owner, authority.public_key, chance))
    assert authority.identifiers_of("alice") == ("ab" * 16,)
    bad = {
        "not her key": claim(given_receipt, "eve", thief, authority.public_key, chance),
        "no receipt": claim(
            receipt(thief, "ab" * 16, key_of[thief]), "eve", thief, authority.public_key, chance
        ),
        "second owner": claim(given_receipt, "eve", owner, authority.public_key, chance),
        "damaged": claim(given_receipt, "eve", owner, authority.public_key, chance)[:-1] + b"x",
        "short": bytes(20),
    }
    for sealed in bad.values():
        with pytest.raises(PeerError):
            authority.take(sealed)
    assert authority.identifiers_of("eve") == ()
