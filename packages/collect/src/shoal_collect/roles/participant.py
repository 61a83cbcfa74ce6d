"""A person's device: blur, ask, correct the counts, draft a release."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, Cylinder, Point, cylinder_for
from shoal_collect.matching.records import Query, Release, encode_points, encode_query
from shoal_collect.matching.similarity import CAP, Scoping, Thresholds, occurs, scoped_tag, similar
from shoal_collect.matching.subtrajectories import (
    DEFAULT,
    NOBODY_SOUTH_OF_UDEG,
    Places,
    PublicPlaces,
    Trimming,
    choose_subtrajectories,
    draw_decoys,
    fake_trajectory,
)
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Answer


@dataclass(kw_only=True)
class Participant:
    """A person's points, wishes, and earlier releases.

    ``device_key``: 32 secret bytes that draw circles. ``k``: how many others must share each release, 0 (no
    crowd) to 15. ``sent``: earlier releases with days since 1970, subtracted from counts. ``blurs``: one per
    point, if they vary. ``elsewhere``: releases under other keys; each counts as another person.
    """

    device_key: bytes
    points: Sequence[Point]
    blur: Blur
    k: int
    trimming: Trimming = DEFAULT
    sent: list[tuple[tuple[Cylinder, ...], int]] = field(default_factory=list)
    blurs: Sequence[Blur] = ()
    elsewhere: Sequence[tuple[tuple[Cylinder, ...], int]] = ()

    def __post_init__(self) -> None:
        if len(self.blurs) not in (0, len(self.points)):
            raise MisuseError(
                f"{len(self.blurs)} blurs for {len(self.points)} points; give one for each, or none"
            )
        if not 0 <= self.k < CAP:
            raise MisuseError(
                f"k = {self.k}: choose 0 (share without a crowd) to {CAP - 1}; "
                f"answers say no more than 'at least {CAP}'"
            )


def blur(member: Participant, period: int) -> tuple[Cylinder, ...]:
    """Step 2: points to cylinders in order of time; a new ``period`` gives new circles."""
    blurs = member.blurs or [member.blur] * len(member.points)
    drawn = (
        cylinder_for(point, point_blur, member.device_key, period)
        for point, point_blur in zip(member.points, blurs, strict=True)
    )
    return tuple(sorted(set(drawn)))


@dataclass(frozen=True)
class Questions:
    """Steps 3 and 4: real sub-trajectories, hidden among fakes.

    ``places``: each real question's name and places. ``canaries``: names of questions where no one can have
    been. ``points``: cylinders. ``records``: encoded and in random order.
    """

    places: Mapping[bytes, Places]
    canaries: frozenset[bytes]
    points: tuple[Cylinder, ...]
    records: tuple[bytes, ...]


def choose_questions(
    member: Participant, points: tuple[Cylinder, ...], prior: PublicPlaces, terms: Terms, chance: Chance
) -> Questions:
    """Choose real sub-trajectories, those of as many decoys as fit, and canaries.

    Fakes are drawn from ``prior`` and blurred alike.
    """
    places: dict[bytes, Places] = {}
    canaries: set[bytes] = set()
    records: list[bytes] = []
    size = terms.n_real + terms.n_fake
    chosen = _places_to_ask(member, len(points), terms, chance)
    for places_asked in chosen:
        name = chance.take(16)
        places[name] = places_asked
        records.append(encode_query(Query(name, tuple(points[place] for place in places_asked))))
    real, blurs = _distinct_points(member, len(points))
    # the same decoys whenever the same trip is asked about: otherwise the real one would be what comes back
    trip = Chance(hash_of(b"shoal decoys", encode_points(points), key=member.device_key))
    for fake in draw_decoys(real, blurs, prior, size // max(1, len(chosen)) - 1, trip):
        for places_asked in chosen:
            if places_asked[-1] < len(fake):
                cylinders = tuple(fake[place] for place in places_asked)
                records.append(encode_query(Query(chance.take(16), cylinders)))
    # the rest has no room for a whole decoy, and a part would stand out: only canaries go there
    while len(records) < size:
        canary = fake_trajectory(prior, max(3, len(points)), blurs, chance, canary=True)
        nowhere = next(cylinder for cylinder in canary if cylinder.lat_udeg < NOBODY_SOUTH_OF_UDEG)
        for other in [cylinder for cylinder in canary if cylinder != nowhere][: size - len(records)]:
            name = chance.take(16)
            canaries.add(name)
            records.append(encode_query(Query(name, tuple(sorted((other, nowhere))))))
    shuffled = tuple(records[place] for place in chance.permutation(len(records)))
    return Questions(places, frozenset(canaries), points, shuffled)


def _places_to_ask(member: Participant, n_points: int, terms: Terms, chance: Chance) -> list[Places]:
    """All pairs and nothing else if pairs are released; else as many parts as fit."""
    if member.trimming == "verified-pairs" and math.comb(n_points, 2) <= terms.n_real:
        return choose_subtrajectories(n_points, math.comb(n_points, 2), terms.longest, chance)
    return choose_subtrajectories(n_points, terms.n_real, terms.longest, chance)


def _distinct_points(member: Participant, most: int) -> tuple[list[Point], list[Blur]]:
    """With their blurs, one per cell and slot."""
    blurs = member.blurs or [member.blur] * len(member.points)
    by_draw: dict[tuple[Cylinder, ...], tuple[Point, Blur]] = {}
    for point, point_blur in zip(member.points, blurs, strict=True):
        # one draw may be the same for two slots, three hardly
        drawn = tuple(cylinder_for(point, point_blur, bytes((number,)) * 32, 0) for number in range(3))
        by_draw.setdefault(drawn, (point, point_blur))
    distinct = list(by_draw.values())[:most]
    return [point for point, _ in distinct], [point_blur for _, point_blur in distinct]


def count_others(
    member: Participant, asked: Questions, answers: Mapping[bytes, Answer], thresholds: Thresholds
) -> dict[Places, int]:
    """Step 7: how many others share each real sub-trajectory, by places.

    Earlier releases are subtracted, so that no question has to name its owner. No answer, or one that was
    withheld, counts as 0.
    PeerError if a canary was counted.
    """
    phi: dict[Places, int] = {}
    for record in asked.records:
        name, answer = record[4:20], answers.get(record)
        if answer is None or answer.people is None:
            if name in asked.places:
                phi[asked.places[name]] = 0
            continue
        if name in asked.canaries and answer.people:
            raise PeerError(
                "bad-answer", "the collector counts people where no one can have been; send it nothing"
            )
        if name in asked.places:
            query = [asked.points[place] for place in asked.places[name]]
            own, elsewhere = (
                sum(day < answer.snapshot and _is_counted(points, query, thresholds) for points, day in sent)
                for sent in (member.sent, member.elsewhere)
            )
            # under other keys each of them may have been counted as a person
            phi[asked.places[name]] = max(0, answer.people - bool(own) - elsewhere)
    return phi


def _is_counted(points: Sequence[Cylinder], query: Sequence[Cylinder], thresholds: Thresholds) -> bool:
    alike = ([similar(asked, point, thresholds) for point in points] for asked in query)
    return occurs([[place for place, is_alike in enumerate(row) if is_alike] for row in alike])


@dataclass(frozen=True)
class Draft:
    """An unsent release, and the seed of its key."""

    release: Release
    claim_seed: bytes


def draft_release(
    member: Participant, points: Sequence[Cylinder], places: Places, chance: Chance, scoping: Scoping
) -> Draft | None:
    """The points at ``places`` under a fresh name and key, if any."""
    if not places:
        return None
    claim_seed = chance.seed()
    remaining = tuple(points[place] for place in places)
    tag = scoped_tag(scoping.scope_of(remaining[0]), member.device_key)
    return Draft(Release(chance.take(16), tag, verify_key(claim_seed), remaining), claim_seed)
