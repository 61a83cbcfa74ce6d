"""What joins a person's rounds: tags pinned to somebody over many rounds, and what scoped tags cost in phi.

Usage: python lab/measure_linking.py [--people 1000] [--rounds 20] [--data FILE [--participants 182]]

In the simulation everybody releases in every round, in one area and one period, so that her tag is the same
all the time: the worst case. The collector sees which keys are in a group and which tags it releases. To find
out whose a tag is, it intersects the groups that the tag came out of, and guesses among the keys left.

- "lasting": one key and one tag for ever, as before there were tokens.
- "fresh": a key for each round, admitted by a token.
- "fresh, addresses seen": the same, when the collector sees an address of each person that lasts.

With data, everybody shares all her trips, and each trip is asked about in pairs of points: phi with tags that
last, beside phi with scoped tags; and how many pairs of a person's releases have the same tag.
"""

import argparse
import hashlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.io import read
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.matching.cylinders import Blur, Cylinder, cylinder_for
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import TAG_BYTES, Scoping, Thresholds, scoped_tag
from shoal_collect.roles.lottery import divide
from shoal_collect.simulation.experiment import Trips, trips_of
from shoal_collect.storage.phi import PhiStore

GROUP_SIZES = (4, 8, 15)
KINDS = ("lasting", "fresh", "fresh, addresses seen")
SCOPINGS = (Scoping(20, 365), Scoping(50, 365), Scoping(200, 365), Scoping(50, 730))
BLUR = Blur(radius_m=500, gap_min=30)


class Pinned(NamedTuple):
    """What the collector knows about the owners of tags after each round."""

    pinned: list[float]  # [rounds]: the share of tags with one key left
    guessed: float  # how often it names the owner of a tag after the last round
    releases: float  # after how many releases a tag was pinned on average, infinite if any never was


def lasting_tag(device_key: bytes) -> bytes:
    """One tag for all releases, as there was once."""
    return hashlib.blake2b(b"contributor", digest_size=TAG_BYTES, key=device_key).digest()


def key_of(kind: str, person: int, number: int) -> bytes:
    """What the collector knows a person by in a round."""
    seed = b"%d" % person if kind != "fresh" else b"%d in %d" % (person, number)
    return verify_key(seed.rjust(32, b"\0"))


def pin(kind: str, people: int, rounds: int, size: int, seed: int) -> Pinned:
    """Intersect groups over many rounds."""
    chance, guess = Chance(seed.to_bytes(32)), random.Random(seed)
    scope = Scoping(50, 365).scope_of(Cylinder(29_000_000, 30, 39_900_000, 116_300_000, 500))
    devices = [chance.seed() for _ in range(people)]
    tags = [lasting_tag(one) if kind == "lasting" else scoped_tag(scope, one) for one in devices]
    left: dict[bytes, set[bytes]] = {}
    first = dict[bytes, int]()
    shares = []
    keys: list[bytes] = []
    in_group: dict[bytes, set[bytes]] = {}
    for number in range(rounds):
        if kind == "fresh" or not keys:
            keys = [key_of(kind, person, number) for person in range(people)]
        tag_of = dict(zip(keys, tags, strict=True))
        for group in divide(chance.seed(), keys, size)[0]:
            for key in group:
                in_group[tag_of[key]] = set(group)
                left[tag_of[key]] = left.get(tag_of[key], set(group)) & set(group)
        for tag, who in left.items():
            if len(who) == 1:
                first.setdefault(tag, number + 1)
        shares.append(sum(len(who) == 1 for who in left.values()) / people)
    # nobody is left where keys do not last: then the group of the last round is the best that there is
    owners = dict(zip(tags, keys, strict=True))
    guesses = {tag: guess.choice(sorted(who or in_group[tag])) for tag, who in left.items()}
    right = sum(owners[tag] == key for tag, key in guesses.items()) / len(left)
    mean = float(np.mean(list(first.values()))) if len(first) == len(left) else float("inf")
    return Pinned(shares, right, mean)


class Cost(NamedTuple):
    """What scoped tags cost over one set of data."""

    phi: float  # the mean over all questions
    smaller: float  # share of the questions with people that got a smaller count than with tags that last
    larger: float  # and a larger one, which must be 0
    linked: float  # share of the pairs of a person's releases with the same tag


def cost(people: Sequence[Trips], scoping: Scoping | None, asked: int, seed: int) -> tuple[Cost, list[int]]:
    """Phi of the same questions; ``larger`` and ``smaller`` are filled in by ``compare``."""
    chance = Chance(seed.to_bytes(32))
    with PhiStore() as store:
        own: list[list[bytes]] = []
        everything: list[tuple[Cylinder, ...]] = []
        for number, trips in enumerate(people):
            device = b"%032d" % number
            own.append([])
            for trip in trips:
                blurred = tuple(sorted({cylinder_for(point, BLUR, device, 0) for point in trip}))[:28]
                scope = b"" if scoping is None else scoping.scope_of(blurred[0])
                tag = lasting_tag(device) if scoping is None else scoped_tag(scope, device)
                store.add(Release(len(everything).to_bytes(16), tag, bytes(32), blurred), 0, scope)
                everything.append(blurred)
                own[-1].append(tag)
        phi = []
        pairs = [one for one in everything if len(one) > 1]
        for _ in range(asked):
            chosen = pairs[chance.below(len(pairs))]
            first = chance.below(len(chosen) - 1)
            phi.append(store.count(chosen[first : first + 2], Thresholds(), 1))
    same = sum(math.comb(n, 2) for tags in own for n in Counter(tags).values())
    pairs_of_releases = sum(math.comb(len(tags), 2) for tags in own)
    return Cost(float(np.mean(phi)), 0.0, 0.0, same / max(1, pairs_of_releases)), phi


def compare(people: Sequence[Trips], scopings: Sequence[Scoping], asked: int, seed: int) -> list[Cost]:
    """With tags that last, and then with each kind of scoped ones."""
    before, lasting = cost(people, None, asked, seed)
    asked_of_somebody = max(1, sum(phi > 0 for phi in lasting))
    found = [before]
    for scoping in scopings:
        after, scoped = cost(people, scoping, asked, seed)
        smaller, larger = (
            sum(sign * (new - old) > 0 for old, new in zip(lasting, scoped, strict=True)) / asked_of_somebody
            for sign in (-1, 1)
        )
        found.append(after._replace(smaller=smaller, larger=larger))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--data")
    parser.add_argument("--participants", type=int, default=182)
    parser.add_argument("--asked", type=int, default=2000)
    options = parser.parse_args()
    print(
        "kind, group: tags pinned after 1, 2, 3, 5 and all rounds, releases until pinned, guessed right, "
        "1/group"
    )
    for size, kind in itertools.product(GROUP_SIZES, KINDS):
        found = pin(kind, options.people, options.rounds, size, seed=1)
        after = [found.pinned[min(n, options.rounds) - 1] for n in (1, 2, 3, 5, options.rounds)]
        shares = " ".join(f"{share:.1%}" for share in after)
        print(
            f"{kind}, {size}: {shares}, {found.releases:.2f}, {found.guessed:.1%}, {1 / size:.1%}", flush=True
        )
    if options.data is None:
        return
    everything = read(options.data, snap=False)
    people = trips_of(everything, options.participants, max_gap_s=1800, n_points=6, fold_dates=False)
    for scoping, one in zip((None, *SCOPINGS), compare(people, SCOPINGS, options.asked, seed=1), strict=True):
        print(
            f"{scoping or 'lasting'}: mean phi {one.phi:.3f}; smaller for {one.smaller:.2%} of the pairs "
            f"that anybody shares, larger for {one.larger:.2%}; a tag links {one.linked:.1%} of the pairs of "
            "a person's releases",
            flush=True,
        )


if __name__ == "__main__":
    main()
