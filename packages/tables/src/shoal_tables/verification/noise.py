"""Statistical tests of noise: published counts less the counts before noise.

Each integer of noise becomes a standard normal number: a uniform number picks the point of its step of the
distribution function. Under the stated noise these are exactly independent and normal, so every probability
below is exact or too large. The tests share one probability, ``REFUSED``, by which a true table is refused.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy import special, stats

from shoal.runtime.arrays import Floats, Integers
from shoal_tables.verification.finding_kinds import Finding, FindingKind
from shoal_tables.verification.statements import tails

REFUSED: Final = 1e-4  # the probability with which a table with the stated noise is refused, at most

_EXACT_SIGMA: Final = 50_000  # above it, a normal density differs by less than the square of 1 / sigma
_STRATA: Final = 8
_FEWEST: Final = 4
_MOST_SLICES: Final = 5000  # whose products fit into memory
_EDGES: Final = (0.25, 0.5, 1.0, 1.7, 2.5, 3.5)


@dataclass(frozen=True)
class NoisyCells:
    """The cells of a table in order: counts before noise, and noise in the same integers [n]."""

    counts: Integers
    noise: Integers
    keys: Mapping[str, Integers]
    sigma: int
    granularity: int
    half_width: int


@dataclass(frozen=True)
class Outcome:
    """One test: the kind of finding, its probability if the noise is as stated, and its words."""

    kind: FindingKind
    probability: float
    message: str


def noise_findings(cells: NoisyCells, levels: int = 1) -> list[Finding]:
    """Find what noise of the stated kind shows at most once in 10,000 tables; levels share the chance."""
    if not len(cells.noise):
        return []
    allowed = _OF_A_FAMILY / levels
    return [Finding(one.kind, one.message) for one in outcomes(cells) if one.probability < allowed]


def shared_findings(inner: NoisyCells, outer: NoisyCells, outer_of: Integers) -> list[Finding]:
    """Find noise of outer zones that adds up that of the zones, or is that of the first cells."""
    z, above, inside = normal_scores(inner), normal_scores(outer), outer_of >= 0
    sums = np.bincount(outer_of[inside], z[inside]) / np.sqrt(np.bincount(outer_of[inside]))
    total = max(abs(float(above @ other)) for other in (sums, z[: len(above)]))
    if 2 * _tail_of_pairs(total, len(above)) >= _OF_A_FAMILY / 2:  # the other half is that of the totals
        return []
    return [Finding("noise-shared", "cells of outer zones share the noise of cells of zones")]


def totals_findings(noise: Integers, sigma: int, levels: int = 1) -> list[Finding]:
    """Find totals with too much or too little noise, in at most one of 10,000 true tables."""
    far = 2 * special.ndtr(-(np.abs(noise) - 0.5) / sigma)  # one step of the discrete distribution at most
    near = 1 - 2 * special.ndtr(-(np.abs(noise) + 0.5) / sigma)
    apart = np.abs([noise[0] - noise[1], noise[0] + noise[1]]).min()
    shared = 2 * (1 - 2 * float(special.ndtr(-(apart + 0.5) / (np.sqrt(2) * sigma))))
    tests = (
        (far.min() * len(noise), "a total has far more noise than stated, or is of other contributions"),
        (near.max() ** len(noise), "the totals have far less noise than stated"),
        (shared, "the totals share their noise"),
    )
    allowed = _OF_A_FAMILY / len(tests) / levels
    return [Finding("totals-differ", words) for probability, words in tests if probability < allowed]


def outcomes(cells: NoisyCells) -> list[Outcome]:
    """The most telling test of each family, with the probability of the whole family."""
    z = normal_scores(cells)
    families = [list(family(z, cells)) for family in _FAMILIES]
    worst = [(min(tests, key=lambda test: test.probability), len(tests)) for tests in families if tests]
    return [replace(one, probability=min(one.probability * n, 1.0)) for one, n in worst]


def normal_scores(cells: NoisyCells) -> Floats:
    """Exactly independent normal numbers, if the noise is as stated."""
    noise, sigma = cells.noise, cells.sigma
    seed = int(np.abs(noise).sum())  # the same scores for the same table
    uniform = np.random.default_rng(seed).random(len(noise))
    if sigma > _EXACT_SIGMA:
        return np.asarray((noise + uniform - 0.5) / sigma)
    mass, tail = tails(sigma)
    size = np.minimum(np.abs(noise), len(mass) - 2)
    beyond = tail[size + 1] + uniform * mass[size]
    z = np.where(noise > 0, 1.0, -1.0) * -special.ndtri(np.clip(beyond, 1e-320, 0.5 + mass[0]))
    below = 0.5 - mass[0] / 2 + uniform * mass[0]
    return np.asarray(np.where(noise == 0, special.ndtri(below), z))


def _scale(z: Floats, _: NoisyCells) -> Iterator[Outcome]:
    probability, ratio = _of_squares(z)
    words = f"the noise has {ratio:.3g} times the stated standard deviation"
    yield Outcome("noise-scale", probability, words)
    mean = float(z.sum() / np.sqrt(len(z)))
    yield Outcome("noise-mean", _two_sided(mean), "the noise is not centered on zero")


def _shape(z: Floats, _: NoisyCells) -> Iterator[Outcome]:
    fit = stats.kstest(z, "norm", method="auto" if len(z) < 10_000 else "asymp")
    words = "the noise is no discrete Gaussian of the stated scale"
    yield Outcome("noise-shape", float(fit.pvalue), words)
    for edge in _EDGES:
        inside, share = int((np.abs(z) < edge).sum()), 1 - 2 * float(special.ndtr(-edge))
        low, high = stats.binom.cdf(inside, len(z), share), stats.binom.sf(inside - 1, len(z), share)
        yield Outcome("noise-shape", float(min(2 * low, 2 * high, 1.0)), words)


def _scale_by_size(z: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    for name, chosen in _by_size(cells.counts):
        probability, ratio = _of_squares(z[chosen])
        words = f"the noise of {name} has {ratio:.3g} times the stated standard deviation"
        yield Outcome("noise-scale-by-size", probability, words)
    empty = cells.counts == 0
    if empty.any():
        negative, share = int((cells.noise[empty] < 0).sum()), at_least(1, cells.sigma)
        probability = float(stats.binom.cdf(negative, int(empty.sum()), share))
        yield Outcome("negatives-removed", probability, "empty cells have too few negative counts")


def _scale_by_key(z: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    for name, codes in cells.keys.items():
        squares, sizes = np.bincount(codes, z * z), np.bincount(codes)
        used = sizes > 0
        low, high = stats.chi2.cdf(squares[used], sizes[used]), stats.chi2.sf(squares[used], sizes[used])
        probability = float(min(2 * used.sum() * min(low.min(), high.min()), 1.0))
        words = f"the noise of the cells of one {name} has not the stated standard deviation"
        yield Outcome("noise-scale-by-key", probability, words)


def _zeros(_: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    at_zero = 1 - 2 * at_least(1, cells.sigma)
    for name, chosen in (("all cells", slice(None)), *_by_size(cells.counts)):
        exact = cells.noise[chosen] == 0
        probability = float(stats.binom.sf(int(exact.sum()) - 1, len(exact), at_zero))
        kind: FindingKind = "empty-cells-without-noise" if name == "empty cells" else "cells-without-noise"
        yield Outcome(kind, probability, f"{int(exact.sum()):,} of {len(exact):,} {name} have no noise")


def _repetition(z: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    n = len(z)
    words = "the same noise stands in several cells"
    if n >= 2 * _FEWEST:
        turned = np.fft.rfft(z)
        products = np.abs(np.fft.irfft(turned * turned.conj(), n)[1 : n // 2 + 1])
        cycles = n // np.gcd(np.arange(1, n // 2 + 1), n)
        yield Outcome("noise-repeated", _of_lags(products, cycles, n), words)
        half = n // 2
        yield Outcome("noise-repeated", _tail_of_pairs(abs(float(z[:half] @ z[::-1][:half])), half), words)
    if "origin" in cells.keys:
        origin, destination, *further = cells.keys.values()
        back = np.lexsort((*reversed(further), origin, destination))  # the place of each flow's opposite
        forth = origin < destination
        total = abs(float((z[forth] * z[back[forth]]).sum()))
        yield Outcome("noise-repeated", _tail_of_pairs(total, float(forth.sum())), words)


def _sharing(z: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    for names, group in _groupings(cells.keys):
        sizes = np.bincount(group)
        used = sizes > 0
        total = float((np.bincount(group, z)[used] ** 2 / sizes[used]).sum())
        probability = float(stats.chi2.sf(total, int(used.sum())))
        yield Outcome("noise-shared", probability, f"cells that agree in {' and '.join(names)} share noise")
    codes, n = list(cells.keys.values()), len(z)
    grid = np.zeros([int(one.max()) + 1 for one in codes])
    grid[tuple(codes)] = z
    likeliest = 2 / (np.sqrt(2 * np.pi) * cells.sigma)  # no size of noise has a larger probability
    for place, name in enumerate(cells.keys):
        order = np.lexsort([*codes[:place][::-1], *codes[place:][::-1]])  # this key changes slowest
        length = _longest_repeat(np.abs(cells.noise[order]))
        probability = min(n * (n - 1) / 2 * likeliest**length, 1.0) if length else 1.0
        words = f"the noise of {length:,} cells in a row stands twice, for another {name} or beside it"
        yield Outcome("noise-shared", float(probability), words)
        slices = np.moveaxis(grid, place, 0).reshape(grid.shape[place], -1)
        if 1 < len(slices) <= _MOST_SLICES:
            products = np.abs(np.triu(slices @ slices.T, 1)).max()
            pairs = len(slices) * (len(slices) - 1) / 2
            probability = min(pairs * _tail_of_pairs(float(products), slices.shape[1]), 1.0)
            yield Outcome("noise-shared", probability, f"the cells of one {name} and of another share noise")


def _longest_repeat(sizes: Integers) -> int:
    """The largest power of two at which two runs of so many numbers are equal; 0 if no number is."""
    length, run = 0, np.unique(sizes, return_inverse=True)[1].ravel()
    while len(run) and run.max() < len(run) - 1:
        length = max(2 * length, 1)
        both = run[:-length] * len(sizes) + run[length:]
        run = np.unique(both, return_inverse=True)[1].ravel()
    return length


def _dependence(z: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    counts = cells.counts.astype(np.float64)
    directions = {"their counts": counts, "the logarithms of their counts": np.log1p(counts)}
    for bit in range(4):
        directions[f"bit {bit} of their counts"] = (cells.counts >> bit & 1).astype(np.float64)
    if len(z) > 1:
        directions["the counts of the next cells"] = np.roll(counts, -1)
        directions["the counts of the cells before"] = np.roll(counts, 1)
    for names, group in _groupings(cells.keys):
        means = np.bincount(group, counts) / np.maximum(np.bincount(group), 1)
        directions[f"the counts of the same {' and '.join(names)}"] = means[group]
    for name, direction in directions.items():
        centered = direction - direction.mean()
        length = float(np.sqrt(centered @ centered))
        if length > 0:
            score = float(z @ centered) / length
            yield Outcome("noise-follows-counts", _two_sided(score), f"the noise of cells follows {name}")


def _rounding_and_cover(_: Floats, cells: NoisyCells) -> Iterator[Outcome]:
    n, published = len(cells.noise), cells.counts + cells.noise
    for divisor in sorted({2, 5, 10, cells.granularity, 10 * cells.granularity} - {1}):
        likeliest = _likeliest_residue(cells.sigma, divisor)
        fits = int(np.unique(published % divisor, return_counts=True)[1].max())
        probability = min(divisor * float(stats.binom.sf(fits - 1, n, likeliest)), 1.0)
        words = f"{fits:,} of {n:,} published counts differ by multiples of {divisor / cells.granularity:g}"
        yield Outcome("noise-rounded", probability, words)
    outside = int((np.abs(cells.noise) > cells.half_width).sum())
    probability = float(stats.binom.sf(outside - 1, n, 2 * at_least(cells.half_width + 1, cells.sigma)))
    yield Outcome("interval-does-not-cover", probability, f"{outside:,} of {n:,} intervals miss the count")


_FAMILIES: Final = (
    _scale,
    _shape,
    _scale_by_size,
    _scale_by_key,
    _zeros,
    _repetition,
    _sharing,
    _dependence,
    _rounding_and_cover,
)
_OF_A_FAMILY: Final = REFUSED / (len(_FAMILIES) + 1)  # one more tests the totals


def _by_size(counts: Integers) -> Iterator[tuple[str, Any]]:
    """Cells by the size of their counts: empty ones, quantiles of the others, and the largest."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        yield "empty cells", empty
    filled = np.flatnonzero(counts != 0)
    filled = filled[np.argsort(counts[filled], kind="stable")]
    if len(filled) >= _FEWEST * _STRATA:
        for part in np.array_split(filled, _STRATA):
            low, high = (max(int(counts[end]), 1).bit_length() for end in (part[0], part[-1]))
            yield f"cells with counts of about 2^{low} to 2^{high} units", part  # the size, without the count
    size = _FEWEST
    while size <= len(filled):
        yield f"the {size:,} largest cells", filled[-size:]
        size *= 4


def _groupings(keys: Mapping[str, Integers]) -> Iterator[tuple[tuple[str, ...], Integers]]:
    for size in range(1, len(keys)):
        for names in itertools.combinations(keys, size):
            dims = [int(keys[name].max()) + 1 for name in names]
            yield names, np.ravel_multi_index([keys[name] for name in names], dims)


def _of_squares(z: Floats) -> tuple[float, float]:
    total = float(z @ z)
    low, high = stats.chi2.cdf(total, len(z)), stats.chi2.sf(total, len(z))
    return float(min(2 * low, 2 * high, 1.0)), float(np.sqrt(total / len(z)))


def _two_sided(score: float) -> float:
    return float(2 * special.ndtr(-abs(score)))


def at_least(n: int, sigma: int) -> float:
    """P(N >= n) of the discrete Gaussian for n > 0."""
    if sigma > _EXACT_SIGMA:
        return float(special.ndtr((0.5 - n) / sigma))
    tail = tails(sigma)[1]
    return float(tail[min(n, len(tail) - 1)])


def _likeliest_residue(sigma: int, divisor: int) -> float:
    """The largest probability of a residue of the noise."""
    if sigma > _EXACT_SIGMA:
        return min(1.0, (1 / divisor + 1 / sigma))
    mass = tails(sigma)[0]
    n = np.arange(len(mass))
    both = np.bincount(n % divisor, mass, divisor) + np.bincount(-n[1:] % divisor, mass[1:], divisor)
    return float(both.max())


def _of_lags(products: Floats, cycles: Integers, n: int) -> float:
    """Chernoff's bound of the largest product of a lag, over all lags."""
    classes = np.unique(cycles).tolist()
    some = [(cycle, products[cycles == cycle]) for cycle in classes]
    least = min(len(of) * _tail_of_circles(float(of.max()), cycle, n // cycle) for cycle, of in some)
    return min(len(classes) * least, 1.0)


_SLOPES: Final = np.concatenate([np.geomspace(1e-6, 0.1, 60), np.linspace(0.1, 0.4999, 60)])


def _tail_of_circles(total: float, cycle: int, circles: float) -> float:
    """Bound P(|S| >= total) for sums of products of normal neighbors along closed circles."""
    root = np.sqrt(1 - 4 * _SLOPES**2)
    rest = (1 - root) / (2 * _SLOPES)
    log_moment = -circles * (cycle / 2 * np.log((1 + root) / 2) + np.log1p(-(rest**cycle)))
    return min(2 * float(np.exp((log_moment - _SLOPES * total).min())), 1.0)


def _tail_of_pairs(total: float, pairs: float) -> float:
    """Bound P(|S| >= total) for a sum of products of independent pairs: along circles, each counts twice."""
    return _tail_of_circles(2 * total, 2, pairs)
