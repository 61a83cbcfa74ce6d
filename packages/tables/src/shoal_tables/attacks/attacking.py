"""Attack a published table with knowledge from the raw data, and exact counts with small cells hidden.

Games ask whether a person is in the table; each is compared with guessing and with the promise's bound. For
each victim, one of two tables is played: the published one, or it without the victim's contribution. The
adversary sees one number, and says "in" where it is above zero. All victims see one draw of noise, so those
who share cells are right or wrong together: intervals count as many victims as are independent.
"""

from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from scipy import optimize, sparse, stats

from shoal.errors import InputError, MisuseError
from shoal.model.projection import transform
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification import contributions as recounting
from shoal_tables.verification.files import published_integers, read_folder
from shoal_tables.verification.statements import guessing_share

_SURE: Final = 0.95


@dataclass(frozen=True)
class Game:
    """How often an adversary is right, with a 95 % interval, and the epsilon that this shows, 95 % sure."""

    name: str
    words: str
    tries: int
    success: float
    low: float
    high: float
    bound: float | None
    epsilon: float
    guessing: float
    breaks_promise: bool  # the adversary is right more often than promised, beyond chance


def play(
    name: str,
    words: str,
    present: Floats,
    absent: Floats,
    bound: float | None,
    delta: float,
    independent: float,
) -> Game:
    """Score an adversary by what victims get who are in, or out; independent: as many of them count."""
    hits, passes = float((present > 0).mean()), float((absent <= 0).mean())
    success, tries = (hits + passes) / 2, max(round(min(independent, len(present))), 1)
    low, high = map(float, stats.binomtest(round(success * tries), tries).proportion_ci(_SURE))
    epsilon, breaks = shown_epsilon(hits, 1 - passes, tries, delta), bound is not None and low > bound
    return Game(name, words, tries, success, low, high, bound, epsilon, 0.5, breaks)


def shown_epsilon(hits: float, false_alarms: float, tries: int, delta: float) -> float:
    """The epsilon that the rates of saying "in" show, 95 % sure (Clopper and Pearson's bounds)."""
    best = 0.0
    for yes, no in ((hits, false_alarms), (1 - false_alarms, 1 - hits)):
        least = stats.binomtest(round(yes * tries), tries, alternative="greater").proportion_ci(0.975).low
        most = stats.binomtest(round(no * tries), tries, alternative="less").proportion_ci(0.975).high
        if least > delta and most > 0:
            best = max(best, log((least - delta) / most))
    return best


@dataclass(frozen=True)
class Recovery:
    """The share of hours in which recovered, or guessed, paths are where people were, matched at best."""

    right: float
    guessing: float


def recover_paths(counts: Floats, places: Floats, n_people: int) -> Integers:
    """The zone of each person and hour [n, h], from counts by hour and zone [h, z], at meters [z, 2].

    People move little from one hour to the next. So the people counted in one hour are matched with those of
    the next by the least sum of distances; from the third hour on, from where each would be if it moved on
    half as fast. After Xu, Tu, Li, Zhang, Fu and Jin 2017, "Trajectory recovery from ash".
    """
    if counts.ndim != 2 or len(places) != counts.shape[1]:
        raise MisuseError("counts need a row for each hour and a column for each place")
    hours = [_people(row, n_people) for row in counts]
    paths = [np.sort(hours[0])]
    for zones in hours[1:]:
        before = places[paths[-1]].astype(np.float64)
        expected = before if len(paths) == 1 else 1.5 * before - 0.5 * places[paths[-2]]
        distance = np.linalg.norm(expected[:, None, :] - places[zones][None, :, :], axis=2)
        _, matched = optimize.linear_sum_assignment(distance)
        paths.append(zones[matched])
    return np.stack(paths, axis=1)


def score_recovery(counts: Floats, places: Floats, truth: Integers, rng: np.random.Generator) -> Recovery:
    """Compare recovered paths and guesses with true zones [n, hours], -1 where nothing is counted."""
    n = len(truth)
    guesses = np.stack([rng.permutation(_people(row, n)) for row in counts], axis=1)
    return Recovery(_overlap(recover_paths(counts, places, n), truth), _overlap(guesses, truth))


def _people(counts: Floats, n: int) -> Integers:
    """The zones of n people, in the shares of the counts: whole parts, then the largest remainders."""
    positive = np.maximum(counts, 0).astype(np.float64)
    total = positive.sum()
    shares = positive * n / total if total > 0 else np.full(len(positive), n / len(positive))
    whole = np.floor(shares).astype(np.int64)
    rest = n - int(whole.sum())
    whole[np.argsort(whole - shares, kind="stable")[:rest]] += 1
    return np.repeat(np.arange(len(whole)), whole)


def _overlap(paths: Integers, truth: Integers) -> float:
    same = np.stack([(paths == path).sum(axis=1) for path in truth], axis=1)
    matched: Any = optimize.linear_sum_assignment(-same)
    return float(same[matched].sum() / max(np.count_nonzero(truth >= 0), 1))


TRIES: Final = 1000
_LEAST_VICTIMS: Final = 8
_DRAWS: Final = 100
_MOST_PATHS: Final = 1000  # matching takes the cube of it


@dataclass(frozen=True)
class Victims:
    """Bounded contributions of the units to attack [k, cells], sums of all [cells]; outer zones last."""

    contributions: Any  # sparse
    counts: Integers
    counts_unbounded: Integers
    noise: Integers  # the deviation of each cell's noise in sigmas: more than 1 for outer zones
    outer: Integers  # the cell of outer zones that adds up each cell, or -1

    def scores(self, values: Numbers, sigma: float) -> Floats:
        """For each victim, the contribution times the values of its cells, in deviations of their noise."""
        return np.asarray(self.contributions @ (values / self.noise**2)) / self.lengths / sigma

    @property
    def lengths(self) -> Floats:
        """Of the contributions of each victim in L2, by their noise."""
        return np.asarray(np.sqrt(self.contributions.power(2) @ (1 / self.noise**2)))


@dataclass(frozen=True)
class TableAttacks:
    """The games on a table, and on the same counts with cells below a threshold hidden."""

    table: str
    epsilon: float
    delta: float
    breaks_promise: bool  # an adversary is right more often than promised, or shows a larger epsilon
    games: list[Game]
    threshold: int
    told_by_threshold: float
    paths: Recovery | None
    paths_by_threshold: Recovery | None
    notes: list[str]


def attack_table(
    raw: Any,
    folder: str | Path,
    *,
    earlier: str | Path | None = None,
    tries: int = TRIES,
    threshold: int = 10,
    rng: Randomness | None = None,
    run: Run | None = None,
    **reading: Any,
) -> TableAttacks:
    """Play games of membership on a published table, with the raw data; earlier: before an erasure."""
    folder = Path(folder)
    manifest, zones, levels = read_folder(folder)
    published = published_integers(levels, manifest.promise.granularity)[0]
    noise = np.repeat([level.noise for level in levels], [level.cells.n for level in levels])
    with recounting.people_on_disk(raw, manifest, run, **reading) as people:
        parts = list(recounting.unit_vectors(people, manifest, zones))
    everybody = {  # the fields of unit vectors by name, of all units together
        name: np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(part, name) for part in parts)])
        for name in ("unit", "cell", "bounded", "unbounded")
    }
    rng = rng or Randomness.from_system()
    victims = _victims(everybody, recounting.outer_cells(manifest, zones), noise, tries, rng)
    games, changed = play_all(published, victims, manifest, threshold)
    if earlier is not None:
        games.append(_erasure(Path(earlier), published, victims, manifest))
    notes = [
        "all games see one draw of noise; victims who share cells count as fewer",
        "the table without a victim is the published one less the bounded contribution; verify checks that",
    ]
    paths = by_threshold = None
    if manifest.table == "presence":
        least, n = threshold * manifest.promise.granularity, levels[0].cells.n
        exact = victims.counts_unbounded[:n]
        hidden = np.where(exact < least, 0, exact)
        truth, places = _true_paths(everybody, manifest, rng), shapely.from_wkb(zones.geometries)
        paths, by_threshold = (
            _recover(cells, truth, places, manifest, rng) for cells in (published[:n], hidden)
        )
    epsilon, delta = manifest.promise.epsilon, manifest.promise.delta
    breaks = any(one.breaks_promise or (one.bound is not None and one.epsilon > epsilon) for one in games)
    about = (manifest.table, epsilon, delta, breaks)
    return TableAttacks(*about, games, threshold, changed, paths, by_threshold, notes)


def play_all(
    published: Integers, victims: Victims, manifest: TableManifest, threshold: int
) -> tuple[list[Game], float]:
    """Every game on one table, and the share of victims whom the comparator tells after an erasure."""
    promise, gap = manifest.promise, victims.lengths / manifest.promise.sigma
    bound, delta = guessing_share(promise.epsilon, promise.delta), promise.delta
    known = victims.scores(published - victims.counts, promise.sigma)
    likely = recounting.added_up(expected(published[: len(victims.outer)], manifest), victims.outer)
    unlike = victims.scores(published - likely, promise.sigma)
    told = victims.counts_unbounded >= threshold * promise.granularity  # before or after
    changed, n = victims.contributions @ told.astype(np.float64) > 0, _independent(victims)
    never = np.full(len(changed), -0.5)
    by_all = "knows everything about everybody else, and the victim's contribution"
    by_sums = "knows the victim's contribution, and of others only the sums of the table itself"
    by_counts = f"the same on exact counts with cells below {threshold} hidden, which promise nothing"
    games = [
        play("everybody-else", by_all, known + gap / 2, known - gap / 2, bound, delta, n),
        play("marginals", by_sums, unlike - gap / 2, unlike - 1.5 * gap, bound, delta, n),
        play("everybody-else, threshold", by_counts, changed - 0.5, never, None, delta, len(changed)),
    ]
    return games, float(changed.mean())


def _independent(victims: Victims) -> float:
    """How many independent victims tell as much as these, who share cells and so noise."""
    n, cells = map(int, victims.contributions.shape)
    rng = np.random.default_rng(n)
    drawn = [victims.scores(victims.noise * rng.standard_normal(cells), 1) > 0 for _ in range(_DRAWS)]
    return 0.25 / max(float(np.var(np.mean(drawn, axis=1))), 0.25 / n)


def _true_paths(everybody: dict[str, Integers], manifest: TableManifest, rng: Randomness) -> Integers:
    """Zones of some units in the hours of the first day [n, hours], where they count most; -1 if nowhere."""
    hours, days = len(manifest.hours), len(set(manifest.day_of.values()))
    order = np.argsort(everybody["unbounded"], kind="stable")
    slot, day = np.divmod(everybody["cell"][order], days)
    order, slot = order[day == 0], slot[day == 0]
    units, unit = np.unique(everybody["unit"][order], return_inverse=True)
    paths = np.full((len(units), hours), -1)
    paths[unit, slot % hours] = slot // hours
    return paths[np.sort(rng.permutation(len(paths))[:_MOST_PATHS])]


def _recover(
    cells: Integers, truth: Integers, zones: Any, manifest: TableManifest, rng: Randomness
) -> Recovery:
    counts = cells.reshape(len(zones), truth.shape[1], -1)[:, :, 0].T.astype(np.float64)
    x, y = shapely.get_coordinates(shapely.centroid(zones)).T
    if manifest.plane is not None and manifest.zones.crs is not None:
        x, y = transform(manifest.zones.crs, manifest.plane, x, y)
    return score_recovery(counts, np.stack([x, y], axis=1), truth, rng.generator())


def _erasure(folder: Path, published: Integers, victims: Victims, manifest: TableManifest) -> Game:
    before, _, levels = read_folder(folder)
    counts = published_integers(levels, before.promise.granularity)[0]
    for name in ("table", "unit", "zones", "day_of", "hours"):
        if getattr(before, name) != getattr(manifest, name):
            raise InputError(
                f"{folder} has other cells than the later table ({name}); give one of the same cells"
            )
    if before.promise.granularity != manifest.promise.granularity:
        raise InputError(
            f"{folder} has another granularity than the later table; give one with the same bound"
        )
    promise, n = manifest.promise, _independent(victims)
    words = "knows the victim's contribution, and asks of two tables whether the victim was erased in between"
    sigma = np.hypot(before.promise.sigma, promise.sigma)
    known, gap = victims.scores(counts - published, sigma), victims.lengths / sigma
    bound = guessing_share(promise.epsilon, promise.delta)
    return play("erasure", words, known + gap / 2, known - gap / 2, bound, promise.delta, n)


def _victims(
    everybody: dict[str, Integers], outer: Integers, noise: Integers, most: int, rng: Randomness
) -> Victims:
    unit, cell = everybody["unit"], everybody["cell"]
    zones = sparse.csr_array(
        (everybody["bounded"], (unit, cell)), shape=(unit.max(initial=-1) + 1, len(outer))
    )
    everyone = np.flatnonzero(zones.sum(axis=1))
    if len(everyone) < _LEAST_VICTIMS:
        raise InputError(
            f"only {len(everyone)} units contribute to the table; games need {_LEAST_VICTIMS} victims"
        )
    chosen = zones[everyone[np.sort(rng.permutation(len(everyone))[:most])]]
    above = chosen @ recounting.sums_over(outer, len(noise) - len(outer)).T
    above.sort_indices()
    counts, unbounded = (
        recounting.added_up(np.bincount(cell, everybody[name], len(outer)).astype(np.int64), outer)
        for name in ("bounded", "unbounded")
    )
    return Victims(sparse.csr_array(sparse.hstack([chosen, above])), counts, unbounded, noise, outer)


def expected(published: Integers, manifest: TableManifest) -> Floats:
    """Each count from the sums of its row and its column without itself, as if these were independent."""
    zones = manifest.zones.n_zones
    counts = np.maximum(published, 0).astype(np.float64)
    if manifest.table == "homes":
        return np.asarray((counts.sum() - counts) / max(zones - 1, 1))
    if manifest.table == "flows":
        origin, destination = np.nonzero(~np.eye(zones, dtype=bool))
        grid = np.zeros((zones, zones, len(counts) // len(origin)))
        grid[origin, destination] = counts.reshape(len(origin), -1)
        return np.asarray(_quasi_independent(grid)[origin, destination].ravel())
    return np.asarray(_quasi_independent(counts.reshape(zones, -1, 1)).ravel())


def _quasi_independent(grid: Floats) -> Floats:
    rows, columns = grid.sum(axis=1, keepdims=True) - grid, grid.sum(axis=0, keepdims=True) - grid
    rest = grid.sum(axis=(0, 1)) - rows - columns - grid
    return np.asarray(np.minimum(rows * columns / np.maximum(rest, 1.0), np.minimum(rows, columns)))
