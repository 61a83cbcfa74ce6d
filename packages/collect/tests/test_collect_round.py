"""A whole round in one process: counts as brute force gives them, releases that keep k, liars found.

And the database behind it.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect_campaigns import ffdhe2048
from collect_oracles import claim_key
from example_counts import examples, tries
from in_process import ClaimsInMemory, Collector, Network, Outcome, Person, require_agreement, run_collection
from mix_runs import seed
from shoal.errors import InputError, MisuseError
from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, Cylinder, Point
from shoal_collect.matching.records import Query, Release, encode_query
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import read_answer
from shoal_collect.storage.phi import PhiStore

START = 25_000_000
PRIOR = PublicPlaces(
    lat_deg=(39.9, 39.92, 39.95),
    lon_deg=(116.3, 116.35, 116.4),
    weights=(3, 2, 1),
    first_min=START,
    last_min=START + 1440,
)


def release(number: int, who: int, points: Sequence[Cylinder]) -> Release:
    return Release(number.to_bytes(16), who.to_bytes(16), bytes(32), tuple(points))


def naive_similar(a: Cylinder, b: Cylinder, thresholds: Thresholds) -> bool:
    """By the angle between two vectors, and intervals written out as sets of conditions."""
    vectors = []
    for one in (a, b):
        lat, lon = math.radians(one.lat_udeg / 1e6), math.radians(one.lon_udeg / 1e6)
        vectors.append((math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)))
    chord = math.dist(*vectors)
    apart_m = 2 * math.asin(min(1.0, chord / 2)) * 6_371_008.8
    gap = max(a.start_min, b.start_min) - min(a.start_min + a.gap_min, b.start_min + b.gap_min)
    return apart_m <= a.radius_m + b.radius_m + thresholds.theta_m and gap <= thresholds.theta_min


def naive_count(
    stored: Sequence[Release],
    query: Sequence[Cylinder],
    thresholds: Thresholds,
    without: bytes | None = None,
    like: Callable[[Cylinder, Cylinder], bool] | None = None,
) -> tuple[int, int]:
    """like: the same judgment as naive_similar, remembered."""
    people, total = set(), 0
    judge = like or (lambda a, b: naive_similar(a, b, thresholds))
    for one in stored:
        found = sum(
            all(judge(a, b) for a, b in zip(query, chosen, strict=True))
            for chosen in itertools.combinations(one.points, len(query))
        )
        if found and one.contributor != without:
            people.add(one.contributor)
            total += found
    return len(people), total


lats = st.sampled_from([-90_000_000, -89_999_000, 0, 500, 39_900_000, 39_905_000, 89_998_500, 90_000_000])
lons = st.sampled_from([-180_000_000, -179_998_000, -90_000_000, 0, 700, 116_400_000, 179_999_000])
points = st.builds(Cylinder, st.integers(1000, 1040), st.integers(0, 9), lats, lons, st.integers(0, 700))
trajectories = st.lists(points, min_size=1, max_size=5).map(sorted)


@examples(1.5)
@given(
    st.lists(st.tuples(st.integers(0, 3), trajectories), max_size=12),
    st.lists(trajectories.filter(lambda t: len(t) > 1), min_size=1, max_size=6),
)
def test_counts_are_those_of_brute_force(
    stored: list[tuple[int, list[Cylinder]]], queries: list[list[Cylinder]]
) -> None:
    releases = [release(i, who, own) for i, (who, own) in enumerate(stored)]
    thresholds = Thresholds(theta_m=333.3, theta_min=7)
    with PhiStore() as store:
        for one in releases:
            store.add(one, day=3)
        assert store.n_records == len(releases)
        for query in queries:
            count = store.count(query, thresholds, 4)
            assert count == naive_count(releases, query, thresholds)[0]
            assert store.count(query, thresholds, 3) == 0  # not in the snapshot of the day it came


def test_random_queries_are_counted_as_by_brute_force() -> None:
    """A thousand around both poles, the antimeridian and a city; ten thousand in the long profile.

    Points come from a pool, so that the slow way judges each pair once.
    """
    dice, thresholds = random.Random(7), Thresholds(theta_m=500.0, theta_min=5)
    centers = [(90e6, 0.0), (-89.999e6, 120e6), (0.0, 179.999e6), (0.0, -179.999e6), (39.9e6, 116.4e6)]
    pool = []
    for number in range(150):
        lat, lon = centers[number % len(centers)]
        lat_udeg = min(90_000_000, max(-90_000_000, round(lat + dice.gauss(0, 8_000))))
        lon_udeg = (round(lon + dice.gauss(0, 8_000)) + 180_000_000) % 360_000_000 - 180_000_000
        pool.append(
            Cylinder(1000 + dice.randrange(60), dice.randrange(10), lat_udeg, lon_udeg, dice.randrange(600))
        )
    like = cache(lambda a, b: naive_similar(a, b, thresholds))
    releases = [release(number, dice.randrange(15), sorted(dice.sample(pool, 5))) for number in range(40)]
    shared = 0
    with PhiStore() as store:
        for one in releases:
            store.add(one, day=3)
        for _ in range(tries(25)):
            query = sorted(dice.sample(pool, dice.choice([2, 2, 2, 3])))
            count = store.count(query, thresholds, 4)
            assert count == naive_count(releases, query, thresholds, like=like)[0]
            shared += count > 0
    assert shared > tries(2.5), "most of the agreement is not about nothing"


def test_a_release_is_stored_once_and_survives_a_new_start(tmp_path: Path) -> None:
    file, one = tmp_path / "collect.sqlite", release(1, 1, [Cylinder(10, 5, 0, 0, 10)] * 2)
    with PhiStore(file) as store:
        identifier = store.add(one, 0)
        assert store.add(one, 1) == identifier
        with pytest.raises(PeerError, match="duplicate"):
            store.add(release(1, 1, [Cylinder(11, 5, 0, 0, 10)]), 0)
        assert store.n_records == 1
    with PhiStore(file) as store:
        assert store.identifier(one.name) == identifier
        assert claim_key(store, identifier) == bytes(32)
        assert store.count(one.points, Thresholds(), 1) == 1
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(InputError, match="name another file"):
        PhiStore(tmp_path / "text")


def people(n: int, k: int = 2) -> list[Person]:
    """All on one way at one time, but the last has also been somewhere else."""
    way = [Point(39.9 + 0.01 * i, 116.3 + 0.01 * i, START + 60 * i) for i in range(4)]
    found = [
        Person(
            user=f"user {i}",
            signing_seed=seed("sign", i),
            device_key=seed("device", i),
            points=[Point(p.lat_deg, p.lon_deg, p.t_min + i) for p in way],
            blur=Blur(radius_m=500, gap_min=30),
            k=k,
        )
        for i in range(n)
    ]
    found[-1].points = [*found[-1].points, Point(45.0, 100.0, START + 400)]
    return found


RULES = Terms(group_size=3, n_real=6, n_fake=2, longest=2, n_pieces=2, resolution_m=0, resolution_min=0)


def authority_for(collectors: Sequence[Collector]) -> ClaimsInMemory:
    return ClaimsInMemory(
        envelope.draw_secret(Chance(seed("authority"))),
        frozenset(verify_key(one.signing_seed) for one in collectors),
    )


def collect(
    everybody: Sequence[Person], collectors: Sequence[Collector], authority: ClaimsInMemory, day: int
) -> Outcome:
    network = Network()
    network.group = ffdhe2048()  # the protocol's own takes twice as long: test_collect_service.py has it
    return run_collection(
        everybody,
        collectors,
        authority,
        PRIOR,
        Chance(seed("round", day)),
        day=day,
        rules=RULES,
        network=network,
    )


def test_rounds_of_volunteers_and_then_of_others() -> None:
    with PhiStore() as store:
        collectors = [Collector(store, seed("collector"))]
        authority = authority_for(collectors)
        volunteers = people(3, k=0)
        first = collect(volunteers, collectors, authority, day=1)
        assert not first.failed
        assert [len(one.places_kept) for one in first.shared.values()].count(4) == 2
        assert store.n_records == 3
        others = people(3, k=3)
        for number, one in enumerate(others):
            one.user, one.device_key = f"other {number}", seed("other device", number)
        second = collect(others, collectors, authority, day=2)
        for one in others:
            shared = second.shared[one.user]
            assert all(
                count >= one.k
                for places, count in shared.phi.items()
                if set(places) <= set(shared.places_kept)
            )
            assert shared.identifier is not None
            assert authority.identifiers_of(one.user) == (shared.identifier,)
        lonely = second.shared["other 2"]
        assert 4 not in lonely.places_kept, "where nobody else has been is not released"
        again = collect(volunteers, collectors, authority, day=3)
        for one in volunteers:
            shared = again.shared[one.user]
            common = [count for places, count in shared.phi.items() if set(places) <= set(range(4))]
            assert set(common) == {5}, "six people share the way, and nobody counts herself"


def test_lying_collectors_are_found() -> None:
    class Liar(Collector):
        def answer(self, submitter: bytes, record: bytes, today: int) -> bytes:
            from shoal_collect.crypto.signatures import signature

            body = super().answer(submitter, record, today)[:-64]
            body = body[:32] + (16).to_bytes(2) + body[34:]
            return body + signature(self.signing_seed, b"answer", body)

    with PhiStore() as store:
        liar, honest = Liar(store, seed("liar")), Collector(store, seed("honest"))
        with pytest.raises(PeerError, match="no one can have been"):
            collect(people(3), [liar], authority_for([liar]), 1)
        with pytest.raises(PeerError, match="do not agree"):
            collect(people(3), [honest, liar], authority_for([honest, liar]), 1)
        assert store.n_records == 0


def test_answers_are_bound_to_their_question() -> None:
    query = [
        encode_query(Query(seed(i)[:16], (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))))
        for i in range(3)
    ]
    with PhiStore() as store:
        collector = Collector(store, seed("collector"))
        answer = collector.answer(b"someone", query[0], 7)
        assert read_answer(verify_key(collector.signing_seed), query[0], answer).snapshot == 7
        for record, damaged in ((query[1], answer), (query[0], answer[:-1] + b"x"), (query[0], answer[:-1])):
            with pytest.raises(PeerError):
                read_answer(verify_key(collector.signing_seed), record, damaged)
        with pytest.raises(PeerError, match="bad-length"):
            collector.answer(b"another", b"no query", 8)
    with pytest.raises(PeerError):
        require_agreement([])


def test_k_beyond_what_an_answer_can_say_is_refused() -> None:
    with pytest.raises(MisuseError, match="choose 0"):
        people(1, k=16)
