"""Who finds a home behind a zone: the attack on endpoint zones, over many synthetic people and their tracks.

Usage: python lab/measure_zones.py [--people 200] [--tracks 30]

Each person goes out from a home (streets in blocks, or straight ahead through open country). Their tracks are
cut by three kinds of zones of equal size: centered on the home, with a new center for each track, and as
``shoal share`` draws them. The adversary sees all tracks of a person, knows the size and how the center was
drawn, and names a place; a success is a place within 100 m of the home. Hassan et al. (2018) fit a circle to
the places where tracks break off; these zones are not centered, so the adversary also looks back along the
headings at the cuts, knows how far from the circle's center the place may lie, and weighs every place.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from shoal.attacks.rate import wilson
from shoal.errors import MisuseError
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.sharing.share import Track, cut
from shoal.sharing.zones import REACH, SHIFT, HiddenPlace, Zone, zone_of

HIDDEN_M = 300.0
WITHIN_M = 100.0
LOOKS_BACK_M = 60.0
KINDS = ("centered", "new each time", "shoal share")
DEGREE_M = 111_195.0
FEWEST: Final = 3  # ends that a circle goes through
_WIDE_M: Final = 40.0  # how far beside the place a way that comes from it may point
_STEP_M: Final = 20.0
_TURNS: Final = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Cuts:
    """Where tracks break off at a zone (x, y in meters), and the direction away from it, float64 [n, 2]."""

    ends: Floats
    away: Floats


def circle_center(ends: Floats, radius_m: float | None = None) -> Floats:
    """[2]: the center of the circle that fits best to the ends, of the radius if that is known.

    Least squares (Kasa 1976), then Gauss-Newton steps on the distances. Raises MisuseError for fewer than
    three.
    """
    if len(ends) < FEWEST:
        raise MisuseError(f"{len(ends)} ends draw no circle; {FEWEST} are needed")
    middle = ends.mean(axis=0)
    moved = ends - middle
    table = np.column_stack([2 * moved, np.ones(len(moved))])
    center: Floats = np.linalg.lstsq(table, (moved**2).sum(axis=1), rcond=None)[0][:2]
    if radius_m is None:
        return np.asarray(center + middle)
    for _ in range(_TURNS):
        apart = moved - center
        away = np.maximum(np.hypot(*apart.T), 1e-9)
        step = np.linalg.lstsq(-apart / away[:, None], radius_m - away, rcond=None)[0]
        center = center + step
        if np.abs(step).max() < 1e-3:
            break
    return np.asarray(center + middle)


def mean_of_ends(ends: Floats) -> Floats:
    """[2]: the middle of the ends, for zones that are drawn anew for each track."""
    middle: Floats = ends.mean(axis=0)
    return middle


def crossing_of_headings(cuts: Cuts) -> Floats:
    """[2]: the place that most of the lines back from the cuts pass near: repeated weighted least squares."""
    normal = np.column_stack([-cuts.away[:, 1], cuts.away[:, 0]])
    beside = (normal * cuts.ends).sum(axis=1)
    weights = np.ones(len(normal))
    place = cuts.ends.mean(axis=0)
    for _ in range(_TURNS):
        place = np.linalg.lstsq(normal * weights[:, None], beside * weights, rcond=None)[0]
        weights = 1 / (1 + ((normal @ place - beside) / _WIDE_M) ** 2)
    found: Floats = place
    return found


def likeliest_place(cuts: Cuts, center: Floats, farthest_m: float) -> Floats:
    """[2]: of all places up to so far from the center, the one that most ways away seem to come from.

    A way speaks for a place by how far beside it the line back passes (Cauchy), and against one before it.
    """
    steps = np.arange(-farthest_m, farthest_m + _STEP_M, _STEP_M)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    grid = grid[np.hypot(*grid.T) <= farthest_m] + center
    back = grid[:, None, :] - cuts.ends[None, :, :]
    beside = back[..., 0] * -cuts.away[:, 1] + back[..., 1] * cuts.away[:, 0]
    before = np.maximum((back * cuts.away).sum(axis=-1), 0.0)
    score = -np.log1p((np.hypot(beside, before) / _WIDE_M) ** 2).sum(axis=1)
    best: Floats = grid[np.flatnonzero(score >= score.max() - 1e-9)].mean(axis=0)
    return best


Ways = Literal["streets", "open country"]

_SPEED_M_S: Final = 3.0
_EVERY_S: Final = 5.0
_NOISE_M: Final = 4.0
_BLOCK_M: Final = 90.0
_FAR_M: Final = (1_500.0, 4_000.0)


def outings(n: int, ways: Ways, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Tracks from the home at (0, 0) and back, each (seconds, x, y in meters), a point every five seconds.

    Streets stand in blocks of 90 m, turned by an angle; a way along them turns at random corners.
    """
    turned = rng.uniform(0, np.pi / 2)
    axes = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
    for _ in range(n):
        angle, far = rng.uniform(0, 2 * np.pi), rng.uniform(*_FAR_M)
        target = far * np.array([np.cos(angle), np.sin(angle)])
        if ways == "streets":
            corners = np.rint(axes @ target / _BLOCK_M).astype(np.int64)
            path = (
                np.vstack([_along_streets(corners, rng), _along_streets(corners, rng)[::-1]])
                @ axes
                * _BLOCK_M
            )
        else:
            path = np.array([[0.0, 0.0], target, [0.0, 0.0]])
        yield _walked(path, rng)


def _along_streets(corners: Integers, rng: np.random.Generator) -> Floats:
    """[c, 2]: the corners of a way from (0, 0), one block at a time, in a random order of both directions."""
    steps = [np.array([np.sign(corners[0]), 0.0])] * abs(int(corners[0]))
    steps += [np.array([0.0, np.sign(corners[1])])] * abs(int(corners[1]))
    order = rng.permutation(len(steps))
    return np.vstack([[0.0, 0.0], np.cumsum([steps[place] for place in order], axis=0)])


def _walked(path: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
    at = np.arange(0.0, along[-1], _SPEED_M_S * _EVERY_S)
    x, y = (np.interp(at, along, path[:, side]) + rng.normal(0, _NOISE_M, len(at)) for side in (0, 1))
    return at / _SPEED_M_S, x, y


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
    place = HiddenPlace(lat=0.0, lon=0.0, hidden_m=HIDDEN_M)
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
