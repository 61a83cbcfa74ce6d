"""The parts of the protocol against the paper's own answers, brute force, and bad input."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

import gmpy2
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

import collect_costs as costs
from collect_oracles import contains
from mix_runs import SMALL, seed
from shoal.collect.crypto import elgamal, envelope
from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.group import FFDHE3072, Group
from shoal.collect.faults import PeerError
from shoal.collect.matching.cylinders import (
    Blur,
    Cylinder,
    Point,
    cylinder_as_printed,
    cylinder_for,
    distance_m,
)
from shoal.collect.matching.records import (
    Query,
    Release,
    decode_query,
    decode_releases,
    encode_query,
    encode_release,
)
from shoal.collect.matching.similarity import Thresholds, occurrences, occurs, similar
from shoal.collect.matching.subtrajectories import Prior, count, extract, fake_trajectory
from shoal.collect.matching.trimming import Trimming, needed, smallest_hitting_set, trim
from shoal.collect.matching.utility import utility, utility_of
from shoal.collect.mix.grouping import Lottery, commitment, divide
from shoal.collect.roles.authority import Authority, claim, receipt
from shoal.errors import MisuseError

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


# cylinders


@given(
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.floats(0, 3e7),
    st.integers(75, 5000),
    st.integers(6, 600),
    seeds,
    st.integers(0, 9),
)
def test_a_cylinder_holds_its_point_anywhere_on_earth(
    lat: float, lon: float, t: float, radius: int, gap: int, key: bytes, period: int
) -> None:
    point = Point(lat, lon, t)
    try:
        drawn = cylinder_for(point, Blur(radius_m=radius, gap_min=gap, cell_m=100), key, period)
    except MisuseError:
        assert abs(lat) > 89.9  # only cells around a pole are less compact than squares
        return
    assert contains(drawn, point)
    assert drawn == cylinder_for(point, Blur(radius_m=radius, gap_min=gap, cell_m=100), key, period)


def test_visits_to_one_cell_always_show_the_same_circle() -> None:
    blurring = Blur(radius_m=1000, gap_min=60, cell_m=100)
    near = [Point(39.9000 + step * 1e-6, 116.4, 1000.0 + step) for step in range(40)]
    circles = Counter(
        (one.lat_udeg, one.lon_udeg)
        for one in (cylinder_for(point, blurring, bytes(32), 0) for point in near)
    )
    assert len(circles) <= 2  # 5 meters cross one border of cells at most
    other = {
        (c.lat_udeg, c.lon_udeg)
        for c in (cylinder_for(near[0], blurring, bytes(32), period) for period in range(50))
    }
    assert len(other) == 50


def test_distances_to_the_center_are_uniform_over_the_disc() -> None:
    point, chance = Point(39.9, 116.4, 1000.0), Chance(seed("disc"))
    drawn = [cylinder_as_printed(point, 1000, 30, chance) for _ in range(4000)]
    away = sorted(distance_m(39.9, 116.4, one.lat_udeg / 1e6, one.lon_udeg / 1e6) / 1000 for one in drawn)
    worst = max(abs((i + 0.5) / len(away) - r * r) for i, r in enumerate(away))
    assert worst < 1.95 / math.sqrt(len(away))  # Kolmogorov-Smirnov at 0.1 %


def test_a_circle_smaller_than_its_cell_is_refused() -> None:
    with pytest.raises(MisuseError, match="cannot hide a cell"):
        cylinder_for(Point(0, 0, 0), Blur(radius_m=60, gap_min=60, cell_m=100), bytes(32), 0)
    for bad in (math.nan, 91.0):
        with pytest.raises(MisuseError):
            Point(bad, 0, 0)


def test_identical_intervals_are_similar_but_not_as_printed() -> None:
    one = Cylinder(100, 10, 0, 0, 100)
    assert similar(one, one, Thresholds(theta_min=60))
    assert not similar(one, one, Thresholds(theta_min=60, literal=True))
    assert similar(one, Cylinder(170, 5, 0, 0, 1), Thresholds(theta_min=60))
    assert not similar(one, Cylinder(171, 5, 0, 0, 1), Thresholds(theta_min=60))
    east, west = Cylinder(0, 9, 0, 179_999_000, 100), Cylinder(0, 9, 0, -179_999_000, 100)
    assert similar(east, west, Thresholds(theta_m=50, theta_min=0))  # 222 m across the antimeridian


@given(st.lists(st.lists(st.integers(0, 6), max_size=4, unique=True).map(sorted), min_size=1, max_size=4))
def test_occurrences_are_ascending_choices(lists: list[list[int]]) -> None:
    naive = sum(all(a < b for a, b in itertools.pairwise(choice)) for choice in itertools.product(*lists))
    assert occurrences(lists) == naive
    assert occurs(lists) == (naive > 0)


# records


@given(st.lists(cylinders, min_size=2, max_size=8), st.binary(min_size=16, max_size=16))
def test_queries_come_back(points: list[Cylinder], name: bytes) -> None:
    query = Query(name, tuple(points))
    assert decode_query(encode_query(query)) == query


@given(st.binary(max_size=200) | st.binary(min_size=148, max_size=148))
def test_random_bytes_are_no_query(record: bytes) -> None:
    with pytest.raises(PeerError):
        decode_query(record)


@given(st.lists(cylinders, min_size=1, max_size=28), st.randoms(use_true_random=False))
def test_releases_come_back_from_any_order_among_others(points: list[Cylinder], random: Any) -> None:
    release = Release(b"n" * 16, b"c" * 16, b"k" * 32, tuple(points))
    other = Release(b"m" * 16, b"d" * 16, b"j" * 32, tuple(points[:1]))
    records = [*encode_release(release, 4, Chance(bytes(32))), *encode_release(other, 4, Chance(seed(1)))]
    random.shuffle(records)
    assert decode_releases(records) == ([other, release], 0)
    damaged = [record for record in records if record[4:20] != release.name or record[3] != 0]
    assert decode_releases([*damaged, b"short"])[0] == [other]
    assert decode_releases(encode_release(None, 4, Chance(bytes(32)))) == ([], 0)


def test_records_out_of_range_or_with_bytes_behind_are_refused() -> None:
    good = encode_query(Query(bytes(16), (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))))
    for bad in (
        good[:-1],
        good + b"\x00",
        good[:-1] + b"\x01",
        good[:2] + b"\x01" + good[3:],
        b"\x02" + good[1:],
    ):
        with pytest.raises(PeerError):
            decode_query(bad)
    with pytest.raises(PeerError, match="out-of-range"):
        decode_query(good[:20] + b"\x7f\xff\xff\xff" + good[24:])


def test_our_own_misuse_is_no_fault_of_a_peer() -> None:
    """What we make out of range ourselves is a MisuseError; only what comes from outside is a PeerError."""
    pair = (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))
    wrong: list[Callable[[], object]] = [
        lambda: Cylinder(5, 5, 91_000_000, 1, 1),
        lambda: Cylinder(2**32, 5, 1, 1, 1),
        lambda: Query(bytes(16), pair[:1]),
        lambda: Query(bytes(15), pair),
        lambda: Release(bytes(16), bytes(16), bytes(31), pair),
        lambda: Release(bytes(16), bytes(16), bytes(32), ()),
        lambda: cylinder_for(Point(0.0, 0.0, 2**32 - 1), Blur(radius_m=500, gap_min=30), bytes(32), 0),
    ]
    for make in wrong:
        with pytest.raises(MisuseError):
            make()


# extraction, trimming, utility


def test_four_points_have_eleven_sub_trajectories() -> None:
    assert count(4, 4) == 11
    every = extract(4, 50, 4, Chance(bytes(32)))
    assert len(every) == len(set(every)) == 11
    assert [places for places in every if len(places) == 2] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]


def test_extraction_is_uniform_and_never_lists_everything() -> None:
    drawn = extract(500, 50, 8, Chance(bytes(32)))
    assert len(set(drawn)) == 50
    assert all(list(places) == sorted(set(places)) and 2 <= len(places) <= 8 for places in drawn)
    tally: Counter[tuple[int, ...]] = Counter()
    for number in range(3000):
        tally.update(extract(5, 3, 3, Chance(seed(number))))
    expected = 3000 * 3 / count(5, 3)
    chi2 = sum((seen - expected) ** 2 / expected for seen in tally.values())
    assert len(tally) == count(5, 3)
    assert chi2 < 45  # 19 degrees of freedom, 0.1 % lies beyond 43.8


def test_the_examples_of_trimming() -> None:
    """Sec. 3.4: of A1, A2, A3 with A2 -> A3 rare, A1 -> A2 stays; Algorithm 2 would leave A1 alone."""
    phi: dict[tuple[int, ...], int] = {(0, 1): 3, (1, 2): 1, (0, 2): 5}
    assert trim(3, phi, 3, "hitting-set") == (0, 2)
    assert trim(3, phi, 3, "strict") == ()  # A1 alone holds nothing that was checked
    assert trim(3, phi, 3, "verified-only") == (0, 1)
    assert trim(3, phi, 0) == (0, 1, 2)
    assert (needed(2), needed(2, "self-included")) == (2, 1)


subsets = st.lists(st.frozensets(st.integers(0, 6), min_size=1, max_size=4), max_size=8)


@given(subsets)
def test_the_hitting_set_is_a_smallest_one(sets: list[frozenset[int]]) -> None:
    found = smallest_hitting_set(sets)
    assert all(found & one for one in sets)
    smallest = next(
        size
        for size in range(8)
        for c in itertools.combinations(range(7), size)
        if all(set(c) & one for one in sets)
    )
    assert len(found) == smallest
    assert all(smallest_hitting_set(sets, budget=1) & one for one in sets)


@given(
    st.dictionaries(
        st.frozensets(st.integers(0, 5), min_size=2).map(lambda s: tuple(sorted(s))), st.integers(0, 4)
    ),
    st.integers(0, 4),
)
def test_no_rare_checked_one_is_left(phi: dict[tuple[int, ...], int], least: int) -> None:
    assert len(get_args(Trimming)) > 1
    for how in get_args(Trimming):
        kept = set(trim(6, phi, least, how))
        assert not [places for places, people in phi.items() if people < least and set(places) <= kept]


def test_the_two_utilities_of_the_paper() -> None:
    """Sec. 4.2, with the minutes of its time stamps.

    From the hours as it rounds them the second would be 0.946.
    """
    assert round(utility([0.3, 0.8, 0.4], [64 / 60, 56 / 60, 102 / 60], 5), 2) == 0.18
    assert round(utility([0.1, 0.3, 0.2], [29 / 60, 28 / 60, 29 / 60], 5), 2) == 0.94
    assert utility([], [], 5) == 0.0
    points = [Cylinder(0, 60, 0, 0, 1000)]
    assert utility_of(points, 1) == pytest.approx(1 - math.exp(-1 / math.pi))


def test_fakes_pass_for_real_and_canaries_are_where_nobody_is() -> None:
    prior = Prior([39.9, 39.95, 40.0], [116.3, 116.4, 116.5], [5, 3, 1], 1_000_000, 1_100_000)
    blurring = Blur(radius_m=500, gap_min=30)
    fake = fake_trajectory(prior, 5, [blurring], Chance(bytes(32)))
    assert len(fake) == 5
    assert all(
        one.radius_m == 500 and one.gap_min == 30 and 39_800_000 < one.lat_udeg < 40_100_000 for one in fake
    )
    assert any(
        one.lat_udeg < -75_000_000
        for one in fake_trajectory(prior, 5, [blurring], Chance(bytes(32)), canary=True)
    )


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
    authority = Authority(envelope.draw_secret(chance), frozenset({key_of[collector]}))
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
