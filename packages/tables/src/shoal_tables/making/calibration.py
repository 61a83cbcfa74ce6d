"""From privacy to noise: the table of bounds, limits of a unit, costs of a table, and the sampler."""

from dataclasses import dataclass
from importlib.metadata import version
from math import ceil, hypot, isqrt, sqrt
from typing import Final

import numpy as np

from shoal.errors import EngineError, MisuseError, requiring_extra
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness, require_randomness
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import Kind, Promise, Totals
from shoal_tables.making import promise as promises
from shoal_tables.making.ledger import Cost, Ledger
from shoal_tables.making.rules import Rules

TOTALS_SHARE: Final = 0.02  # of rho, for the totals before and after the bound
MEASURED_DAYS: Final = 14

BOUNDS: Final[dict[Kind, dict[str, float]]] = {
    "presence": {"one": 1.9, "kinds": 4.1, "each": 11.8, "person-day": 3.3},
    "flows": {"one": 2.4, "kinds": 3.2, "each": 9.0, "person-day": 3.5},
    "dwell": {"one": 1.0, "kinds": 2.1, "each": 5.2, "person-day": 1.8},
    "homes": {"one": 1.0},
}
"""By table and days: one typical day, kinds of days, each of 14 days; or for one day of a person."""

MOST: Final[dict[Kind, int]] = {"presence": 24, "flows": 20, "dwell": 5, "homes": 1}
"""On a day, 99 in 100 synthetic people contribute less than this in all."""


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """How much a table may tell about one unit.

    Parameters
    ----------
    epsilon : float
        Of differential privacy, at most 10; 1 is usual.
    delta : float
        The chance that the promise fails altogether, at most 1e-5.
    bound : float or None
        The longest contribution of one unit in L2, in people or trips a day; None = from the table of bounds.
        It must not be read off the data.
    ledger : Ledger or None
        Counts what tables of these people cost; None = nothing does.
    rng : Randomness or None
        The source of the noise; None = the system, the only one for publication. A research seed marks the
        table.

    Raises
    ------
    MisuseError
        For a value that promises nothing.
    """

    epsilon: float
    delta: float = promises.DELTA
    bound: float | None = None
    ledger: Ledger | None = None
    rng: Randomness | None = None

    def __post_init__(self) -> None:
        promises.require_promise(self.epsilon, self.delta)
        if self.bound is not None and not 0 < self.bound <= 1e6:
            raise MisuseError(
                f"--bound {self.bound:g} must be greater than 0; leave it out for the table of bounds"
            )
        if self.rng is not None:
            require_randomness(self.rng)
        if self.ledger is not None and self.rng is not None and not self.rng.publishable:
            raise MisuseError(
                "a table with a research seed is not for publication and spends nothing: leave out --ledger"
            )


def promise_of(rules: Rules, privacy: Privacy, *, unit_of_protection: str = "", sampler: str = "") -> Promise:
    """The noise that follows from rules, privacy, and what one unit is (as the reader says it) alone."""
    granularity = promises.granularity_for(rules.common_days)
    date = granularity // int(rules.dates_per_day.min())  # the most that one date adds to a cell
    bound, source, cells = privacy.bound, terms.CHOSEN, 0
    usual = default_bound(rules)
    if rules.table != "homes" and unit_of_protection == terms.EACH_TRIP:
        cells = 1 if rules.table == "flows" else 2  # in which a trip counts: its flow, or its two ends
    if bound is None and cells:
        source = terms.OF_ONE_TRIP if cells == 1 else terms.OF_TWO_ENDS
        noise = rules.levels[-1].noise  # of outer zones, in one of which a trip may count twice
        longest = cells * noise**2 + (cells**2 if rules.outer else 0)
        sensitivity = -(-(isqrt(longest * date**2 - 1) + 1) // noise)  # rounded up: it cuts no trip
    else:
        if bound is None:
            bound, source = usual, terms.MEASURED
        sensitivity = int(np.floor(bound * granularity + 1e-9))
        if sensitivity < 1:
            raise MisuseError(
                f"--bound {bound:g} is less than one part in {granularity}; choose a larger one"
            )
    totals, share, rho = None, 1.0, 0.0
    if rules.table != "homes":
        days = 1 if rules.unit == "person-day" else max(len(rules.days), 1)
        larger = max(sensitivity / (usual * granularity), 1.0)  # than usual: so are the totals
        most = cells * date or int(MOST[rules.table] * days * granularity * larger)
        both, share = isqrt(2 * most**2) + 1, 1 - TOTALS_SHARE
        sigma = promises.sigma_for(privacy.epsilon, privacy.delta, both, TOTALS_SHARE)
        totals = Totals(most=most, sensitivity=both, sigma=sigma, before=0, after=0)
        rho = promises.rho_of(sigma, both)
    sigma = promises.sigma_for(privacy.epsilon, privacy.delta, sensitivity, share)
    rho += promises.rho_of(sigma, sensitivity)
    return Promise(
        epsilon=promises.epsilon_of(rho, privacy.delta),
        delta=privacy.delta,
        rho=rho,
        granularity=granularity,
        sensitivity=sensitivity,
        bound_source=source,
        sigma=sigma,
        half_width=promises.half_width(sigma),
        least_shown=promises.least_shown(sigma, rules.levels[-1].cells.stop),
        mechanism="discrete Gaussian",
        sampler=sampler,
        totals=totals,
    )


def cost_of(rules: Rules, promise: Promise, unit_of_protection: str = "") -> Cost:
    """What a table costs in a ledger."""
    days, counts = len(rules.day_of), promises.rho_of(promise.sigma, promise.sensitivity)
    disjoint = len(rules.days) == days  # each date has cells of its own; all share the totals
    return Cost(
        kind=rules.table,
        unit=rules.unit,
        unit_of_protection=unit_of_protection,
        promise=promise,
        persons_rho=counts * (days if disjoint else days**2) + (promise.rho - counts) * days**2,
    )


def default_bound(rules: Rules) -> float:
    """The bound in L2 for a table when the publisher names none, in people or trips a day."""
    bounds, dates, days = BOUNDS[rules.table], len(rules.day_of), len(rules.days)
    if rules.unit == "person-day":
        return bounds["person-day"] / float(rules.dates_per_day.min())
    if rules.table == "homes" and rules.outer is not None:  # one in a zone, and one in its outer zone
        return ceil(promises.LEAST_GRANULARITY * hypot(1, 1 / terms.OUTER_NOISE)) / promises.LEAST_GRANULARITY
    if rules.table == "homes" or (days == 1 and dates > 1):
        return bounds["one"]
    if days == dates:  # grows with the square root of their number
        return max(bounds["each"] * sqrt(dates / MEASURED_DAYS), bounds["person-day"])
    return bounds["kinds"]


_AT_ONCE: Final = 50_000


def sampler_name(rng: Randomness) -> str:
    """The sampler with its version, as a manifest states it; MissingExtraError without OpenDP."""
    if not rng.publishable:
        return terms.STAND_IN
    with requiring_extra("a table for publication gets its noise from OpenDP", "noise", of="shoal-tables"):
        import opendp  # noqa: F401  (named in the error when it is missing)
    return f"opendp {version('opendp')}"


def add_noise(counts: Integers, sigma: int, sensitivity: int, rng: Randomness) -> Integers:
    """Add independent discrete Gaussian noise to exact sums. sensitivity: in L2."""
    if not rng.publishable:
        return counts + stand_in(len(counts), sigma, rng.generator())
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    gaussian = dp.m.make_gaussian(*space, scale=float(sigma))
    if gaussian.map(sensitivity) > promises.rho_of(sigma, sensitivity) * (1 + 1e-9):
        raise EngineError("OpenDP accounts for more than the table would promise; no noise was drawn")
    parts = [gaussian(counts[at : at + _AT_ONCE].tolist()) for at in range(0, len(counts), _AT_ONCE)]
    return np.concatenate([np.array(part, dtype=np.int64) for part in parts])


def stand_in(n: int, sigma: int, generator: np.random.Generator) -> Integers:
    """Discrete Gaussian noise by rejection from discrete Laplace noise (Canonne, Kamath and Steinke 2020)."""
    noise = np.empty(n, dtype=np.int64)
    waiting, scale = np.arange(n), sigma + 1
    while len(waiting):
        first, second = generator.geometric(-np.expm1(-1 / scale), (2, len(waiting)))
        drawn = first - second
        excess = np.abs(drawn) - sigma**2 / scale
        accepted = generator.random(len(waiting)) < np.exp(-(excess**2) / (2 * sigma**2))
        noise[waiting[accepted]] = drawn[accepted]
        waiting = waiting[~accepted]
    return noise
