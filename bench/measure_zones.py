"""Who finds a home behind a zone: the attack on endpoint zones, over many synthetic people and their tracks.

Usage: python bench/measure_zones.py [--people 200] [--tracks 30]

Each person goes out from a home (streets in blocks, or straight ahead through open country). Their tracks are
cut by three kinds of zones of equal size: centered on the home, with a new center for each track, and as
``shoal share`` draws them. The adversary sees all tracks of a person, knows the size and how the center was
drawn, and names a place; a success is a place within 100 m of the home.
"""

import argparse

import numpy as np

from shoal.attacks.endpoint_zones import (
    Cuts,
    circle_center,
    crossing_of_headings,
    likeliest_place,
    mean_of_ends,
)
from shoal.attacks.intervals import wilson
from shoal.runtime.arrays import Floats
from shoal.runtime.randomness import Randomness
from shoal.sharing.share import cut
from shoal.sharing.tracks import Track
from shoal.sharing.zones import REACH, SHIFT, Place, Zone, zone_of
from shoal.synthetic.outings import Ways, outings

HIDDEN_M = 300.0
WITHIN_M = 100.0
LOOKS_BACK_M = 60.0
KINDS = ("centered", "new each time", "shoal share")
DEGREE_M = 111_195.0


def named_places(cuts: Cuts, radius_m: float, farthest_m: float) -> dict[str, Floats]:
    """What each rule names: circle, mean, headings, and all together (``likeliest``)."""
    center = circle_center(cuts.ends, radius_m)
    return {
        "circle": center,
        "mean": mean_of_ends(cuts.ends),
        "headings": crossing_of_headings(cuts),
        "likeliest": likeliest_place(cuts, center, farthest_m),
    }


def zone(kind: str, key: bytes, draws: np.random.Generator) -> Zone:
    """The zone of the home at (0, 0), where a degree is as long in both directions."""
    place = Place(lat=0.0, lon=0.0, hidden_m=HIDDEN_M)
    if kind == "centered":
        return Zone(lat=0.0, lon=0.0, radius_m=REACH * HIDDEN_M)
    return zone_of(place, draws.bytes(32) if kind == "new each time" else key)


def cuts_of(
    kind: str, tracks: list[tuple[Floats, Floats, Floats]], draws: np.random.Generator, rng: Randomness
) -> Cuts:
    """Where the tracks of one person break off, in meters, and where they went from there."""
    key = draws.bytes(32)
    ends, away = [], []
    for t, x, y in tracks:
        pieces, _, _ = cut(Track(t=t, lat=y / DEGREE_M, lon=x / DEGREE_M), [zone(kind, key, draws)], rng)
        for piece in pieces:
            at = np.column_stack([piece.lon, piece.lat]) * DEGREE_M
            for line in (at, at[::-1]):
                later = np.flatnonzero(np.hypot(*(line - line[0]).T) >= LOOKS_BACK_M)
                if len(later):
                    ends.append(line[0])
                    away.append((line[later[0]] - line[0]) / np.hypot(*(line[later[0]] - line[0])))
    return Cuts(ends=np.array(ends), away=np.array(away))


def errors_m(kind: str, ways: Ways, people: int, tracks: int, seed: int) -> dict[str, Floats]:
    """[people]: how far from the home each rule's place lies."""
    draws, rng = np.random.default_rng(seed), Randomness.for_research(seed)
    found: dict[str, list[float]] = {}
    for _ in range(people):
        cuts = cuts_of(kind, list(outings(tracks, ways, draws)), draws, rng)
        farthest = {"centered": 0.0}.get(kind, SHIFT * HIDDEN_M)
        for name, at in named_places(cuts, REACH * HIDDEN_M, farthest).items():
            found.setdefault(name, []).append(float(np.hypot(*at)))
    return {name: np.array(values) for name, values in found.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--tracks", type=int, default=30)
    given = parser.parse_args()
    by_chance = (WITHIN_M / (SHIFT * HIDDEN_M)) ** 2
    print(f"{given.people} people, {given.tracks} tracks each; guessing within the disc: {by_chance:.1%}")
    for ways in ("streets", "open country"):
        for kind in KINDS:
            for name, error in errors_m(kind, ways, given.people, given.tracks, 1).items():
                won = int((error <= WITHIN_M).sum())
                low, high = wilson(won, len(error))
                print(
                    f"{ways:13} {kind:14} {name:10} {won / len(error):6.1%} ({low:.1%} to {high:.1%}); "
                    f"median {np.median(error):6.0f} m"
                )


if __name__ == "__main__":
    main()
