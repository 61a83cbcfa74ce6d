"""Knowledge with errors, and of who is in the data, against cylinders: an oracle, and what it wins."""

from math import exp, hypot, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.kernels.moved_inward import (
    ANY_TIME,
    MOST_DEVIATIONS,
    Errors,
    correct_places,
    link_moved_points_with_errors,
)
from shoal.kernels.passing import KnownPoints, Lines
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import crowd, small_crowds

RADIUS_M = 3.0


def fit_of(record: list[tuple[float, ...]], known: list[tuple[float, ...]], errors: Errors) -> float:
    """The sum over what is known of the logarithm of the weighed mean over a record's points."""
    total = 0.0
    for t, x, y in known:
        inside = [n for n, p in enumerate(record) if abs(p[0] - t) <= MOST_DEVIATIONS * errors.s]
        before = [n for n, p in enumerate(record) if p[0] < t - MOST_DEVIATIONS * errors.s][-1:]
        after = [n for n, p in enumerate(record) if p[0] > t + MOST_DEVIATIONS * errors.s][:1]
        seen, weights = 0.0, 0.0
        for at, px, py, mx, my in (record[n] for n in (*before, *inside, *after)):
            weight = exp(-(((at - t) / errors.s) ** 2) / 2) + ANY_TIME
            share = min(1.0, RADIUS_M / max(hypot(x - mx, y - my), 1e-300))
            off = hypot(px - mx - (x - mx) * share, py - my - (y - my) * share) / errors.m
            seen += weight / (1 + off**2) / (1 + hypot(px - x, py - y) / errors.m)
            weights += weight
        total += log(seen / weights)
    return total


@pytest.mark.kernels
@given(
    known=small_crowds(),
    published=small_crowds(),
    errors=st.sampled_from([Errors(2.0, 0.3), Errors(0.5, 2.0)]),
    seed=st.integers(0, 100),
)
def test_who_fits_points_with_errors_is_that_of_brute_force(
    known: Trajectories, published: Trajectories, errors: Errors, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    own = rng.integers(0, published.n_subjects, known.n_subjects)
    middles = np.column_stack([published.x, published.y]) + rng.normal(size=(published.n_samples, 2))
    t, x, y = (column + rng.normal(size=known.n_samples) * 0.1 for column in (known.t, known.x, known.y))
    chances, named = np.zeros(known.n_subjects), np.full(known.n_subjects, -1)
    link_moved_points_with_errors(
        KnownPoints(known.offsets, t, x, y, own),
        Lines(published.offsets, published.t, published.x, published.y),
        middles,
        RADIUS_M,
        errors,
        chances,
        named,
    )
    columns = np.column_stack([published.t, published.x, published.y, middles])
    records = [list(map(tuple, rows)) for rows in np.split(columns, published.offsets[1:-1])]
    told = [list(map(tuple, rows)) for rows in np.split(np.column_stack([t, x, y]), known.offsets[1:-1])]
    assert len(told) == known.n_subjects > 0
    for number, rows in enumerate(told):
        fits = [fit_of(record, rows, errors) for record in records]
        best = [record for record, fit in enumerate(fits) if fit >= max(fits) - 1e-9]
        if len(best) == 1 or own[number] not in best:  # equal fits may differ by rounding
            assert chances[number] == (own[number] in best)
        assert named[number] in best


@pytest.mark.kernels
@given(seed=st.integers(0, 1000), radius=st.sampled_from([0.0, 2.0, 9.0]))
def test_the_sample_that_was_moved_is_the_one_that_ends_nearest(seed: int, radius: float) -> None:
    draw = np.random.default_rng(seed)
    samples, middles, shown, first = (draw.normal(0, 4, (n, 2)) for n in (5, 7, 7, 7))
    found = first.copy()
    correct_places(samples, middles, radius, shown, 0.5, found)

    def off(place: np.ndarray, at: int) -> float:
        way = place - middles[at]
        return float(np.hypot(*(middles[at] + way * min(1.0, radius / np.hypot(*way)) - shown[at])))

    for at in range(7):
        each = [off(place, at) for place in (first[at], *samples)]
        best = 0 if each[0] <= 0.5 else int(np.argmin(each))
        assert off(found[at], at) == pytest.approx(each[best])


def test_moves_are_undone_on_all_threads_with_progress() -> None:
    """The same rates on one thread and on two, and each adversary says how far it is."""
    original = crowd(130, 40, seed=5)
    inside, outside = original.keep(np.arange(110)), original.keep(np.arange(110, 130))
    release, linkage = shoal.Nwa(k=2, delta_m=60, pi_s=50, step_s=10).anonymize(
        inside, Randomness.for_research(0)
    )

    def played(knowledge: str, run: Run) -> list[Rate]:
        return list(
            attack(
                inside,
                release,
                linkage,
                knowledge=[knowledge],
                rng=Randomness.for_research(1),
                scope=AttackScope(control=outside, targets=["release"]),
                run=run,
            ).rates
        )

    for knowledge in ("noisy:4:3m:2s", "membership:4", "nearest:4", "top:2"):
        heard: list[tuple[str, int, int]] = []

        def hear(label: str, done: int, total: int, heard: list[tuple[str, int, int]] = heard) -> None:
            heard.append((label, done, total))

        run = Run(threads=2, progress=hear)
        assert played(knowledge, run) == played(knowledge, Run(threads=1))
        work = "comparing moved places" if knowledge == "top:2" else "measuring distances"
        steps = [(done, total) for name, done, total in heard if name == f"{work} (release)"]
        assert steps, knowledge
        assert steps[0][0] == 0
        assert steps[-1][0] == steps[-1][1] > 0


def test_errors_and_who_is_there_are_told_by_moves_into_cylinders() -> None:
    """Far beyond 1/k and beyond what cells tell; of people who are not there no more than luck."""
    original = crowd(150, 40, seed=5)
    inside, outside = original.keep(np.arange(100)), original.keep(np.arange(100, 150))
    method = shoal.Nwa(k=5, delta_m=60, pi_s=50, step_s=10)
    release, linkage = method.anonymize(inside, Randomness.for_research(0))
    found = attack(
        inside,
        release,
        linkage,
        knowledge=["noisy:4:3m:2s", "membership:4"],
        rng=Randomness.for_research(1),
        scope=AttackScope(control=outside),
    )
    rates = {(one.name, one.target): one for one in found.rates}
    noisy, there = rates["noisy-linkage", "release"], rates["membership", "release"]
    assert (noisy.rule, there.rule) == ("moved inward", "moved inward")
    assert noisy.low > 1 / method.k
    assert there.low > 0.8
    assert rates["noisy-linkage", "control"].low <= 3 * noisy.baseline
    assert rates["membership", "control"].low <= 0.5 <= rates["membership", "control"].high
