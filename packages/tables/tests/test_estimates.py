"""Estimates of flows: their intervals cover, and they err less than counts."""

import numpy as np
import pytest

from shoal.runtime.arrays import Floats
from shoal_tables import Privacy, hours_of
from shoal_tables.definition.manifest import Hours
from shoal_tables.making.calibration import promise_of, stand_in
from shoal_tables.making.promise import estimate
from shoal_tables.making.rules import WHOLE_DAY, Rules
from table_cases import rules_of


def true_flows(rules: Rules, uneven: float) -> Floats:
    """Trips of a few large and many empty cells; ``uneven`` of them one way."""
    rng = np.random.default_rng(1)
    zones = rules.shape[0]
    one_way = rng.pareto(0.7, (zones, zones, len(rules.hours))) * 0.3
    both_ways = one_way + one_way.transpose(1, 0, 2)
    square = uneven * one_way + (1 - uneven) * both_ways / 2
    origin, destination = np.divmod(np.arange(zones * (zones - 1)), zones - 1)
    return np.asarray(square[origin, destination + (destination >= origin)].ravel())


@pytest.mark.parametrize("uneven", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("hours", [WHOLE_DAY, hours_of("6-10,16-20")])
def test_intervals_of_flows_cover_as_often_as_they_say(uneven: float, hours: Hours) -> None:
    rules = rules_of("flows", 3000, hours=hours)
    promise = promise_of(rules, Privacy(epsilon=1.0))
    counts = np.rint(true_flows(rules, uneven) * promise.granularity).astype(np.int64)
    covered, covered_large, errors = [], [], []
    for seed in range(10):
        noisy = counts + stand_in(len(counts), promise.sigma, np.random.default_rng(seed))
        numbers, spread = estimate(rules, noisy, promise)
        inside = np.abs(numbers - counts) <= spread * promise.half_width
        covered.append(inside.mean())
        covered_large.append(inside[counts > 4 * promise.sigma].mean())
        errors.append(np.mean((numbers - counts) ** 2) / promise.sigma**2)
    assert 0.94 < np.mean(covered) < 0.96
    assert 0.93 < np.mean(covered_large) < 0.97
    assert np.mean(errors) < {0.0: 0.52, 0.3: 0.75, 1.0: 1.03}[uneven]
