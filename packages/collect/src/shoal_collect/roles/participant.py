"""What a person's device does for her in a round: blur, ask, correct the counts, draft a release."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.contributors import TAG_BYTES, Scoping, lasting_tag, tag_in
from shoal_collect.matching.counting import CAP
from shoal_collect.matching.cylinders import Blur, Cylinder, Point, cylinder_for
from shoal_collect.matching.decoys import decoys
from shoal_collect.matching.records import Query, Release, encode_points, encode_query
from shoal_collect.matching.similarity import Thresholds, occurs, similar
from shoal_collect.matching.subtrajectories import (
    NOBODY_SOUTH_OF_UDEG,
    Places,
    Prior,
    fake_trajectory,
    questions_about,
)
from shoal_collect.matching.trimming import DEFAULT, Reading, Trimming
from shoal_collect.roles.collector import Answer
from shoal_collect.roles.rules import Rules


@dataclass(kw_only=True)
class Participant:
    """A person with her device: her points, what she wants, and what she has released before.

    Parameters
    ----------
    user
        Her name at the authority.
    signing_seed, device_key
        32 secret bytes each. The first signs for her; the second draws her circles.
    points
        Her true points.
    blur
        How much each point is blurred.
    k
        How many other people must share what she releases, from 0 (no crowd) to 15.
    trimming
        Which points go when a sub-trajectory is rare.
    reading
        Whether k counts others only, or herself as well.
    sent
        What she released before, and on which day since 1970. It is taken off her own counts.
    blurs
        One blur for each point, where her profile says more than one blur for all.
    elsewhere
        What she released under other keys, as ``sent``; each counts as another of those people.

    Raises
    ------
    MisuseError
        If there are not as many blurs as points, or k is outside its range.
    """

    user: str
    signing_seed: bytes
    device_key: bytes
    points: Sequence[Point]
    blur: Blur
    k: int
    trimming: Trimming = DEFAULT
    reading: Reading = "others"
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

    @property
    def identity(self) -> bytes:
        """Her public identity key."""
        return verify_key(self.signing_seed)


def blur(member: Participant, period: int) -> tuple[Cylinder, ...]:
    """Step 2: turn her points into cylinders, in their order in time.

    Parameters
    ----------
    member
        The person and her points.
    period
        The number of the release period; a new one gives new circles.
    """
    blurs = member.blurs or [member.blur] * len(member.points)
    drawn = (
        cylinder_for(point, one, member.device_key, period)
        for point, one in zip(member.points, blurs, strict=True)
    )
    return tuple(sorted(set(drawn)))


@dataclass(frozen=True)
class Questions:
    """Steps 3 and 4: a person's real sub-trajectories, hidden among fake ones.

    Attributes
    ----------
    places
        The name of each real question, and where in her trajectory its points are.
    canaries
        The names of questions about where nobody can have been.
    points
        Her cylinders.
    records
        All questions, real and fake, encoded and in random order.
    """

    places: Mapping[bytes, Places]
    canaries: frozenset[bytes]
    points: tuple[Cylinder, ...]
    records: tuple[bytes, ...]


def ask_for(
    member: Participant, points: tuple[Cylinder, ...], prior: Prior, rules: Rules, chance: Chance
) -> Questions:
    """Choose her real sub-trajectories, the same ones of as many decoys as fit, and canaries in what is left.

    Parameters
    ----------
    member
        The person; fakes are blurred as her points are.
    points
        Her cylinders, from ``blur``.
    prior
        What everybody knows about movement; fakes are drawn from it.
    rules
        How many questions there are, and how long they may be.
    chance
        Where the randomness comes from.
    """
    places: dict[bytes, Places] = {}
    canaries: set[bytes] = set()
    records: list[bytes] = []
    size = rules.n_real + rules.n_fake
    chosen = _to_ask(member, len(points), rules, chance)
    for own in chosen:
        name = chance.take(16)
        places[name] = own
        records.append(encode_query(Query(name, tuple(points[place] for place in own))))
    real, blurs = _different(member, len(points))
    # the same decoys whenever the same trip is asked about: otherwise the real one would be what comes back
    told = hashlib.blake2b(
        encode_points(points), digest_size=32, key=member.device_key, person=b"shoal decoys"
    )
    for fake in decoys(real, blurs, prior, size // max(1, len(chosen)) - 1, Chance(told.digest())):
        for own in chosen:
            if own[-1] < len(fake):
                asked = tuple(fake[place] for place in own)
                records.append(encode_query(Query(chance.take(16), asked)))
    # what is left over holds no whole decoy, and would be told from it: it is for canaries alone
    while len(records) < size:
        canary = fake_trajectory(prior, max(3, len(points)), blurs, chance, canary=True)
        nowhere = next(one for one in canary if one.lat_udeg < NOBODY_SOUTH_OF_UDEG)
        for other in [one for one in canary if one != nowhere][: size - len(records)]:
            name = chance.take(16)
            canaries.add(name)
            records.append(encode_query(Query(name, tuple(sorted((other, nowhere))))))
    shuffled = tuple(records[place] for place in chance.permutation(len(records)))
    return Questions(places, frozenset(canaries), points, shuffled)


def _to_ask(member: Participant, n_points: int, rules: Rules, chance: Chance) -> list[Places]:
    """All pairs and nothing else where that is what is released; else as many parts as the rules allow."""
    if member.trimming == "verified-pairs" and math.comb(n_points, 2) <= rules.n_real:
        return questions_about(n_points, math.comb(n_points, 2), rules.longest, chance)
    return questions_about(n_points, rules.n_real, rules.longest, chance)


def _different(member: Participant, most: int) -> tuple[list[Point], list[Blur]]:
    """Her true points with their blurs, one for each cell and slot; at most so many."""
    blurs = member.blurs or [member.blur] * len(member.points)
    found: dict[tuple[Cylinder, ...], tuple[Point, Blur]] = {}
    for point, one in zip(member.points, blurs, strict=True):
        # one draw may be the same for two slots, three hardly
        drawn = tuple(cylinder_for(point, one, bytes((number,)) * 32, 0) for number in range(3))
        found.setdefault(drawn, (point, one))
    kept = list(found.values())[:most]
    return [point for point, _ in kept], [one for _, one in kept]


def phi_of(
    member: Participant, asked: Questions, answers: Mapping[bytes, Answer], thresholds: Thresholds
) -> dict[Places, int]:
    """Step 7: count the other people who share each of her own sub-trajectories.

    She knows what she released and takes herself off the count, so that no question has to say whose it is. A
    question without an answer counts as 0.

    Parameters
    ----------
    member
        The person who asked.
    asked
        Her questions.
    answers
        The answer to each record that was answered.
    thresholds
        When two uncertain points count as similar.

    Returns
    -------
    dict
        How many others share each real sub-trajectory, by its places.

    Raises
    ------
    PeerError
        If a canary was counted.
    """
    phi: dict[Places, int] = {}
    for record in asked.records:
        name, answer = record[4:20], answers.get(record)
        if answer is None:
            if name in asked.places:
                phi[asked.places[name]] = 0
            continue
        if name in asked.canaries and answer.people:
            raise PeerError(
                "bad-answer", "the collector counts people where nobody can have been; send it nothing"
            )
        if name in asked.places:
            query = [asked.points[place] for place in asked.places[name]]
            own = any(
                day < answer.snapshot and _holds(points, query, thresholds) for points, day in member.sent
            )
            # under other keys each of them may have been counted as a person
            also = sum(
                day < answer.snapshot and _holds(points, query, thresholds)
                for points, day in member.elsewhere
            )
            phi[asked.places[name]] = max(0, answer.people - own - also)
    return phi


def _holds(points: Sequence[Cylinder], query: Sequence[Cylinder], thresholds: Thresholds) -> bool:
    """Whether a release would have been counted for a query."""
    return occurs(
        [[place for place, point in enumerate(points) if similar(one, point, thresholds)] for one in query]
    )


@dataclass(frozen=True)
class Draft:
    """A release before it is sent, and the seed of the key that can claim it."""

    release: Release
    claim_seed: bytes


def draft(
    member: Participant,
    points: Sequence[Cylinder],
    kept: Places,
    chance: Chance,
    *,
    of_nobody: bool = False,
    scoping: Scoping | None = None,
) -> Draft | None:
    """Put what is left under a fresh name and key; None when nothing is left.

    Parameters
    ----------
    member
        Whose release it is.
    points
        Her cylinders.
    kept
        The places of the points that stay.
    chance
        Where the randomness comes from.
    of_nobody
        Whether the release is a record of nobody, under a fresh tag that nobody can link.
    scoping
        How far and how long her tag lasts; None for a tag that lasts for ever.
    """
    if not kept:
        return None
    claim_seed = chance.seed()
    left = tuple(points[place] for place in kept)
    if of_nobody:
        tag = chance.take(TAG_BYTES)
    elif scoping is None:
        tag = lasting_tag(member.device_key)
    else:
        tag = tag_in(scoping.scope_of(left[0]), member.device_key)
    return Draft(Release(chance.take(16), tag, verify_key(claim_seed), left), claim_seed)
