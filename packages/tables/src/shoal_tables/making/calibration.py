"""From privacy to noise: the table of bounds, limits of a unit, costs of a table, and the sampler."""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from math import isqrt, sqrt
from typing import Final

import numpy as np

from shoal.errors import EngineError, MisuseError, requiring_extra
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness, require_randomness
from shoal_tables.definition.manifest import (
    CHOSEN,
    EACH_TRIP,
    MEASURED,
    OF_ONE_TRIP,
    OF_TWO_ENDS,
    STAND_IN,
    Kind,
    Promise,
    Totals,
)
from shoal_tables.making.contributions import Limits
from shoal_tables.making.ledger import Cost, Ledger
from shoal_tables.making.promise import (
    DELTA,
    epsilon_of,
    granularity_for,
    half_width,
    least_shown,
    require_promise,
    rho_of,
    sigma_for,
)
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

    Examples
    --------
    >>> Privacy(epsilon=1.0).publishable
    True
    """

    epsilon: float
    delta: float = DELTA
    bound: float | None = None
    ledger: Ledger | None = None
    rng: Randomness | None = None

    def __post_init__(self) -> None:
        require_promise(self.epsilon, self.delta)
        if self.bound is not None and not 0 < self.bound <= 1e6:
            raise MisuseError(
                f"--bound {self.bound:g} must be greater than 0; leave it out for the table of bounds"
            )
        if self.rng is not None:
            require_randomness(self.rng)
        if self.ledger is not None and not self.publishable:
            raise MisuseError(
                "a table with a research seed is not for publication and spends nothing: leave out --ledger"
            )

    @property
    def publishable(self) -> bool:
        """Whether the noise comes from the system."""
        return self.rng is None or self.rng.publishable


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The noise that follows from rules, privacy, and what one unit is; from nothing else in the data.

    unit_of_protection: as the reader says it; empty before any data is read.
    """

    rules: Rules
    privacy: Privacy
    unit_of_protection: str = ""

    @cached_property
    def granularity(self) -> int:
        """Parts of one person or trip."""
        return granularity_for(self.rules.common_days)

    @cached_property
    def limits(self) -> Limits:
        """What one unit adds at most; a larger bound than the usual one needs larger totals."""
        if self.cells_of_a_trip is not None:
            most = self.cells_of_a_trip * self.parts_of_a_date
            return Limits(granularity=self.granularity, sensitivity=self.sensitivity, most=most)
        usual = default_bound(self.rules) * self.granularity
        days = 1 if self.rules.unit == "person-day" else max(len(self.rules.days), 1)
        most = int(MOST[self.rules.table] * days * self.granularity * max(self.sensitivity / usual, 1.0))
        return Limits(granularity=self.granularity, sensitivity=self.sensitivity, most=most)

    @property
    def cells_of_a_trip(self) -> int | None:
        """In how many cells a unit counts that is one trip: its flow, or its two ends; None for others."""
        if self.rules.table == "homes" or self.unit_of_protection != EACH_TRIP:
            return None
        return 1 if self.rules.table == "flows" else 2

    @property
    def parts_of_a_date(self) -> int:
        """The most that one date adds to a cell, in parts of one."""
        return self.granularity // int(self.rules.dates_per_day.min())

    @property
    def bound(self) -> tuple[float, str]:
        """The bound in L2, and where it comes from."""
        if self.privacy.bound is not None:
            return self.privacy.bound, CHOSEN
        if self.cells_of_a_trip is not None:
            source = OF_ONE_TRIP if self.cells_of_a_trip == 1 else OF_TWO_ENDS
            return sqrt(self.cells_of_a_trip) * self.parts_of_a_date / self.granularity, source
        return default_bound(self.rules), MEASURED

    @cached_property
    def sensitivity(self) -> int:
        """The bound in parts of one, rounded down; that of the layout is rounded up and cuts no trip."""
        bound, source = self.bound
        if source in (OF_ONE_TRIP, OF_TWO_ENDS):
            return isqrt((self.cells_of_a_trip or 0) * self.parts_of_a_date**2 - 1) + 1
        parts = int(np.floor(bound * self.granularity + 1e-9))
        if parts < 1:
            raise MisuseError(
                f"--bound {bound:g} is less than one part in {self.granularity}; choose a larger one"
            )
        return parts

    @cached_property
    def sigma(self) -> int:
        """The standard deviation of the noise, in parts of one."""
        share = 1.0 if self.totals is None else 1 - TOTALS_SHARE
        return sigma_for(self.privacy.epsilon, self.privacy.delta, self.sensitivity, share)

    @cached_property
    def totals(self) -> Totals | None:
        """The limits and the noise of the totals, before they are counted."""
        if self.rules.table == "homes":
            return None
        both = isqrt(2 * self.limits.most**2) + 1
        sigma = sigma_for(self.privacy.epsilon, self.privacy.delta, both, TOTALS_SHARE)
        return Totals(most=self.limits.most, sensitivity=both, sigma=sigma, before=0, after=0)

    @property
    def rho(self) -> float:
        """What counts and totals cost together."""
        counts = rho_of(self.sigma, self.sensitivity)
        return counts if self.totals is None else counts + rho_of(self.totals.sigma, self.totals.sensitivity)

    def promise(self, sampler: str) -> Promise:
        """What the manifest states."""
        return Promise(
            epsilon=epsilon_of(self.rho, self.privacy.delta),
            delta=self.privacy.delta,
            rho=self.rho,
            granularity=self.granularity,
            sensitivity=self.sensitivity,
            bound_source=self.bound[1],
            sigma=self.sigma,
            half_width=half_width(self.sigma),
            least_shown=least_shown(self.sigma, self.rules.n_cells),
            mechanism="discrete Gaussian",
            sampler=sampler,
            totals=self.totals,
        )

    def cost(self) -> Cost:
        """What the table costs in a ledger."""
        days, counts = len(self.rules.day_of), rho_of(self.sigma, self.sensitivity)
        disjoint = len(self.rules.days) == days  # each date has cells of its own; all share the totals
        return Cost(
            kind=self.rules.table,
            unit=self.rules.unit,
            unit_of_protection=self.unit_of_protection,
            promise=self.promise(""),
            persons_rho=counts * (days if disjoint else days**2) + (self.rho - counts) * days**2,
        )


def default_bound(rules: Rules) -> float:
    """The bound in L2 for a table when the publisher names none, in people or trips a day."""
    bounds, dates, days = BOUNDS[rules.table], len(rules.day_of), len(rules.days)
    if rules.unit == "person-day":
        return bounds["person-day"] / float(rules.dates_per_day.min())
    if rules.table == "homes" or (days == 1 and dates > 1):
        return bounds["one"]
    if days == dates:  # grows with the square root of their number
        return max(bounds["each"] * sqrt(dates / MEASURED_DAYS), bounds["person-day"])
    return bounds["kinds"]


_AT_ONCE: Final = 50_000


def sampler_name(rng: Randomness) -> str:
    """The sampler with its version, as a manifest states it; MissingExtraError without OpenDP."""
    if not rng.publishable:
        return STAND_IN
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
    if gaussian.map(sensitivity) > rho_of(sigma, sensitivity) * (1 + 1e-9):
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
        accepted = generator.random(len(waiting)) < np.exp(
            -((np.abs(drawn) - sigma**2 / scale) ** 2) / (2 * sigma**2)
        )
        noise[waiting[accepted]] = drawn[accepted]
        waiting = waiting[~accepted]
    return noise
