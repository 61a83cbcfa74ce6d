"""Test whether successive draws of a shuffle are independent.

A shuffle may draw once for two sets or for a whole cluster; then whole tracks stay together. So draws are
compared by the points that went the same way. Two independent permutations agree in one point on average,
with variance 1; two choices among c with probability 1 / c. Each comparison has a share of the probability
of a false alarm.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.verification.points.draws import Draws
from shoal.verification.points.tails import agreement_moments, both_tails, bound_tails, log_mgf

_AT_ONCE: Final = 1 << 22  # numbers in one batch of transforms
# stayed points, four series of distances, six kinds of groups; and of each group alone: stayed points, points
# that went the same way, two series of distances
_FAMILIES: Final = 15
_NEAR: Final = 3.0  # below this z, no bound is computed: it would be 1 in 100 at best


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How often points of compared draws went the same way."""

    words: str
    same: float  # same, expected: agreeing points
    expected: float
    z: float  # their difference in standard deviations
    p_value: float  # bound on its probability for independent draws, times the number of comparisons

    @property
    def in_words(self) -> str:
        """The result in a sentence."""
        return (
            f"compared with {self.words}, {self.same:,.0f} points went the same way (independent draws: "
            f"{self.expected:,.0f}; z = {self.z:.1f})"
        )


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """All comparisons of a release."""

    comparisons: tuple[Comparison, ...]
    before: Comparison  # with the previous exchange of the group
    stayed: Comparison  # points compared with where they came from
    log_chance_of_none: float

    @property
    def worst(self) -> Comparison:
        """The one that independent draws explain least."""
        return min(self.comparisons, key=lambda comparison: comparison.p_value)

    def enough(self, level: float) -> bool:
        """Whether draws are enough to refuse, at this level, a release in which nothing moved."""
        return self.log_chance_of_none + math.log(2 * _FAMILIES) < math.log(level)


def compare_draws(runs: Sequence[Draws]) -> Correlation:
    """Compare the draws of a run, all sizes together."""
    in_time = [_reorder(draws, np.lexsort((draws.t_s, draws.group))) for draws in runs]
    whole = [replace(draws, group=np.zeros_like(draws.group), by_person=draws.by_place) for draws in runs]
    stayed = _compare_with_start(runs)
    permutes = all(draws.permutes for draws in runs)
    group, alone = ("its cluster", "of one cluster") if permutes else ("its leader", "of one leader")
    lagged = [
        *_compare_by_lag(in_time, f"the exchange {{}}before of {group}", mirrored=False),
        *_compare_by_lag(in_time, f"the reverse of the exchange {{}}before of {group}", mirrored=True),
        *_compare_by_lag(whole, "the exchange {}before in the run", mirrored=False),
        *_compare_by_lag(whole, "the reverse of the exchange {}before in the run", mirrored=True),
    ]
    first = f"the exchange before of {group}"
    before = next((comparison for comparison in lagged if comparison.words == first), _no_comparison(first))
    return Correlation(
        comparisons=(
            stayed,
            *lagged,
            *_compare_all_pairs(in_time, group),
            *_compare_each_group_with_start(runs, alone),
            *(_compare_each_group_by_lag(in_time, alone, mirrored=mirrored) for mirrored in (False, True)),
        ),
        before=before,
        stayed=stayed,
        log_chance_of_none=-sum(
            len(draws) * (math.lgamma(draws.c + 1) if draws.permutes else math.log(draws.c)) for draws in runs
        ),
    )


def _compare_with_start(runs: Sequence[Draws]) -> Comparison:
    places = [np.arange(draws.by_place.shape[1]) for draws in runs]
    same = sum(int((draws.by_place == still).sum()) for draws, still in zip(runs, places, strict=True))
    counts = [np.array([len(draws)]) for draws in runs]
    return _comparison_at("where it came from", runs, np.array([same]), counts, np.ones(1), 0)


def _compare_by_lag(runs: Sequence[Draws], words: str, *, mirrored: bool) -> Iterator[Comparison]:
    """At every distance l, each with the share 1 / (l (l + 1)) of false alarms."""
    longest = max((int(np.bincount(draws.group).max()) for draws in runs if len(draws)), default=0)
    if longest < 2:
        return
    same = np.zeros(longest, dtype=np.int64)
    counts = []
    for draws in runs:
        lengths = np.bincount(draws.group)
        lengths = lengths[lengths > 0]
        if not len(lengths):
            counts.append(np.zeros(longest - 1, dtype=np.int64))
            continue
        for _, agreements in _agreements(draws, lengths, mirrored=mirrored):
            same[: agreements.shape[1]] += agreements.sum(axis=0)
        at_least = np.bincount(lengths, minlength=longest + 1)[::-1].cumsum()[::-1]  # groups, by draws
        # pairs at distance l: one for each draw of a group beyond its first l
        counts.append(at_least[1:][::-1].cumsum()[::-1][1:])
    distance = np.arange(1, longest)
    share = 1.0 / (distance * (distance + 1.0))
    yield _comparison_at(words.format(""), runs, same[1:], counts, share, 0)
    if longest > 2:
        p = _p_values(runs, same[1:], counts) / share
        at = 1 + int(np.argmin(p[1:]))
        yield _comparison_at(words.format(f"{at + 1} "), runs, same[1:], counts, share, at)


def _agreements(draws: Draws, lengths: Integers, *, mirrored: bool) -> Iterator[tuple[Integers, Integers]]:
    """Lengths of some groups [g], and int64 [g, l]: points agreeing at each distance of them (Fourier)."""
    longest = int(lengths.max(initial=0))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    padded = np.array([1 << int(2 * n - 1).bit_length() for n in lengths.tolist()])
    for size in np.unique(padded).tolist():
        groups = np.flatnonzero(padded == size)
        for part in np.array_split(groups, -(-len(groups) * size // _AT_ONCE)):
            where = np.repeat(np.arange(len(part)), lengths[part])
            step = np.arange(len(where)) - np.repeat(np.cumsum(lengths[part]) - lengths[part], lengths[part])
            rows = starts[part][where] + step
            spectrum = np.zeros((len(part), size // 2 + 1), dtype=np.complex128)
            for cell, other in _indicator_pairs(draws, mirrored=mirrored):
                a = _transformed(draws, rows, where, step, len(part), size, cell)
                b = a if cell == other else _transformed(draws, rows, where, step, len(part), size, other)
                spectrum += np.conj(a) * b
            agreements = np.fft.irfft(spectrum, size, axis=1)[:, : min(longest, size // 2)]
            yield lengths[part], np.rint(agreements).astype(np.int64)


def _indicator_pairs(draws: Draws, *, mirrored: bool) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for i in range(draws.by_person.shape[1]):
        for j in range(draws.c):
            reverse = (j, i) if draws.permutes else (0, -j % draws.c)
            yield (i, j), reverse if mirrored else (i, j)


def _transformed(
    draws: Draws, rows: Integers, where: Integers, step: Integers, n: int, size: int, cell: tuple[int, int]
) -> "np.ndarray[tuple[int, int], np.dtype[np.complex128]]":
    series = np.zeros((n, size))
    series[where, step] = draws.by_person[rows, cell[0]] == cell[1]
    return np.fft.rfft(series, axis=1)


def _compare_all_pairs(in_time: Sequence[Draws], of_group: str) -> Iterator[Comparison]:
    ordinal = [_ordinals(draws) for draws in in_time]
    by_place = [replace(draws, by_person=draws.by_place) for draws in in_time]
    steps = [_steps(draws) for draws in in_time]
    together = [np.zeros_like(draws.group) for draws in in_time]
    groups = [draws.group for draws in in_time]
    yield _compare_pairs(f"every other exchange of {of_group}", in_time, groups)
    each_step = f"every other step from one exchange to the next of {of_group}"
    yield _compare_pairs(each_step, steps, [draws.group for draws in steps])
    yield _compare_pairs("exchanges of the same number elsewhere", in_time, ordinal)
    yield _compare_pairs("exchanges of the same number elsewhere, place by place", by_place, ordinal)
    yield _compare_pairs("every other exchange", in_time, together)
    yield _compare_pairs("every other exchange, place by place", by_place, together)


def _compare_pairs(words: str, runs: Sequence[Draws], groups: Sequence[Integers]) -> Comparison:
    """Pairs are independent, three only to the third moment."""
    same = expected = variance = third = 0.0
    for draws, group in zip(runs, groups, strict=True):
        mean, spread, cubed, of_three = agreement_moments(draws.c, permutes=draws.permutes)
        n = np.bincount(group).astype(np.float64)
        cells = group[:, None] * (draws.by_person.shape[1] * draws.c)
        cells = cells + np.arange(draws.by_person.shape[1]) * draws.c + draws.by_person
        cell_counts = np.unique(cells, return_counts=True)[1].astype(np.float64)
        pairs, threes = float((n * (n - 1) / 2).sum()), float((n * (n - 1) * (n - 2) / 6).sum())
        same += float((cell_counts * (cell_counts - 1) / 2).sum())
        expected += mean * pairs
        variance += spread * pairs
        third += cubed * pairs + 6 * of_three * threes
    if variance == 0:
        return _no_comparison(words)
    z = (same - expected) / math.sqrt(variance)
    p = both_tails(z, third / variance**1.5)
    return Comparison(words=words, same=same, expected=expected, z=z, p_value=min(1.0, p * _FAMILIES))


def _compare_each_group_with_start(runs: Sequence[Draws], alone: str) -> Iterator[Comparison]:
    """One group that keeps its points, or sends those of a person to one record, is not seen in the sum."""
    n_groups = max(1, sum(len(np.unique(draws.group)) for draws in runs))
    stayed, same_way = [], []
    for draws in runs:
        n, width = np.bincount(draws.group), draws.by_person.shape[1]
        still = (draws.by_place == np.arange(width)).sum(axis=1)
        same = np.bincount(draws.group, weights=still).astype(np.int64)
        stayed.append((draws, same, n, np.full(len(n), 1 / n_groups)))
        choices = replace(draws, by_place=draws.by_place[:, :1])  # of one person: no permutations
        for person in range(width):
            cells = np.bincount(
                draws.group * draws.c + draws.by_person[:, person], minlength=len(n) * draws.c
            )
            share = np.full(len(cells), 1 / (n_groups * draws.c * width))
            same_way.append((choices, cells, np.repeat(n, draws.c), share))
    yield _least_probable(f"where they came from, points {alone}", stayed)
    yield _least_probable(f"each other, points of one person {alone}", same_way)


def _compare_each_group_by_lag(in_time: Sequence[Draws], alone: str, *, mirrored: bool) -> Comparison:
    n_groups = sum(len(np.unique(draws.group)) for draws in in_time)
    counts = []
    for draws in in_time:
        lengths = np.bincount(draws.group)
        for n, agreements in _agreements(draws, lengths[lengths > 0], mirrored=mirrored):
            distance = np.arange(1, agreements.shape[1])
            pairs = np.maximum(n[:, None] - distance, 0)
            share = np.broadcast_to(1 / (n_groups * distance * (distance + 1.0)), pairs.shape)
            possible = pairs > 0
            counts.append((draws, agreements[:, 1:][possible], pairs[possible], share[possible]))
    series = "the reverse of another exchange" if mirrored else "another exchange"
    return _least_probable(f"{series} at some distance, points {alone}", counts)


def _least_probable(words: str, counts: Sequence[tuple[Draws, Integers, Integers, Floats]]) -> Comparison:
    """Of agreeing points of so many pairs, each with a share of the probability of a false alarm."""
    found = [_no_comparison(words)]
    for draws, same, pairs, share in counts:
        if len(same):
            at = int(np.argmin(_p_values([draws], same, [pairs]) / share))
            found.append(_comparison_at(words, [draws], same, [pairs], share, at))
    return min(found, key=lambda comparison: comparison.p_value)


def _comparison_at(
    words: str, runs: Sequence[Draws], same: Integers, counts: Sequence[Integers], share: Floats, at: int
) -> Comparison:
    moments = [agreement_moments(draws.c, permutes=draws.permutes) for draws in runs]
    expected = float(sum(m[0] * pairs[at] for m, pairs in zip(moments, counts, strict=True)))
    variance = float(sum(m[1] * pairs[at] for m, pairs in zip(moments, counts, strict=True)))
    if variance == 0:
        return _no_comparison(words)
    picked = [pairs[at : at + 1] for pairs in counts]
    p = float(_p_values(runs, same[at : at + 1], picked)[0]) * _FAMILIES / float(share[at])
    return Comparison(
        words=words,
        same=float(same[at]),
        expected=expected,
        z=(float(same[at]) - expected) / math.sqrt(variance),
        p_value=min(1.0, p),
    )


def _p_values(runs: Sequence[Draws], same: Integers, counts: Sequence[Integers]) -> Floats:
    moments = [agreement_moments(draws.c, permutes=draws.permutes) for draws in runs]
    expected = sum(m[0] * pairs for m, pairs in zip(moments, counts, strict=True))
    variance = sum(m[1] * pairs for m, pairs in zip(moments, counts, strict=True))
    far = np.flatnonzero((same - expected) ** 2 >= _NEAR**2 * variance)
    bounds = np.ones(len(same))
    mgfs = [partial(log_mgf, draws.c, permutes=draws.permutes) for draws in runs]
    of_size = [(pairs[far], mgf) for pairs, mgf in zip(counts, mgfs, strict=True)]
    bounds[far] = bound_tails(same[far], of_size)
    return bounds


def _no_comparison(words: str) -> Comparison:
    return Comparison(words=words, same=0.0, expected=0.0, z=0.0, p_value=1.0)


def _reorder(draws: Draws, order: Integers) -> Draws:
    columns = ("by_place", "by_person", "group", "t_s")
    return replace(draws, **{name: getattr(draws, name)[order] for name in columns})


def _ordinals(draws: Draws) -> Integers:
    if not len(draws):
        return draws.group
    first = np.r_[True, np.diff(draws.group) != 0]
    begin = np.flatnonzero(first)
    return np.arange(len(draws)) - np.repeat(begin, np.diff(np.append(begin, len(draws))))


def _steps(draws: Draws) -> Draws:
    """Independent if the draws are."""
    follows = np.flatnonzero(np.diff(draws.group) == 0)
    first, second = draws.by_person[follows], draws.by_person[follows + 1]
    if draws.permutes:
        step = np.empty_like(first)
        np.put_along_axis(step, first, second, axis=1)
    else:
        step = (second - first) % draws.c
    return replace(draws, by_place=step, by_person=step, group=draws.group[follows], t_s=draws.t_s[follows])
