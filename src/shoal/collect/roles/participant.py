"""What a person's device does for her in a round: blur, ask, correct the counts, draft a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.signatures import verify_key
from shoal.collect.faults import PeerError
from shoal.collect.matching.contributors import TAG_BYTES, Scoping, lasting_tag, tag_in
from shoal.collect.matching.counting import CAP
from shoal.collect.matching.cylinders import Blur, Cylinder, Point, cylinder_for
from shoal.collect.matching.records import Query, Release, encode_query
from shoal.collect.matching.similarity import Thresholds, occurs, similar
from shoal.collect.matching.subtrajectories import (
    NOBODY_SOUTH_OF_UDEG,
    Places,
    Prior,
    extract,
    fake_trajectory,
)
from shoal.collect.matching.trimming import Reading, Trimming
from shoal.collect.roles.collector import Answer
from shoal.collect.roles.rules import Rules
from shoal.errors import MisuseError


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
    trimming: Trimming = "hitting-set"
    reading: Reading = "others"
    sent: list[tuple[tuple[Cylinder, ...], int]] = field(default_factory=list)
    blurs: Sequence[Blur] = ()

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
    """Draw her real sub-trajectories, and whole fake trajectories to fill up; the first of these is a canary.

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
    for chosen in extract(len(points), rules.n_real, rules.longest, chance):
        name = chance.take(16)
        places[name] = chosen
        records.append(encode_query(Query(name, tuple(points[place] for place in chosen))))
    canary, size = True, rules.n_real + rules.n_fake
    while len(records) < size:
        blurs = member.blurs or [member.blur]
        fake = fake_trajectory(prior, max(3, len(points)), blurs, chance, canary=canary)
        for chosen in extract(len(fake), size - len(records), rules.longest, chance):
            name = chance.take(16)
            asked = tuple(fake[place] for place in chosen)
            if any(point.lat_udeg < NOBODY_SOUTH_OF_UDEG for point in asked):
                canaries.add(name)
            records.append(encode_query(Query(name, asked)))
        canary = False
    shuffled = tuple(records[place] for place in chance.permutation(len(records)))
    return Questions(places, frozenset(canaries), points, shuffled)


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
            phi[asked.places[name]] = max(0, answer.people - own)
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
