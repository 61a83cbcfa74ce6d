"""How large the error of a table is, from its noise alone: nothing is read, nothing is spent."""

from dataclasses import dataclass
from typing import Final

from shoal_tables.definition.manifest import Promise
from shoal_tables.making.estimates import scale_of

SIZES: Final = (50, 100, 300)
EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
_MEDIAN: Final = 0.67449
"""Half of all normal errors are smaller than so many standard deviations."""


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of noise: of 95 % of the cells, and as shares of half of the cells of each of ``SIZES``."""

    epsilon: float
    delta: float
    half_width: float
    least_shown: float
    by_size: tuple[float, ...]


def expected_error(promise: Promise) -> ExpectedError:
    """The error that follows from a promise.

    Parameters
    ----------
    promise : Promise
        Of a table, or of one that is planned.

    Returns
    -------
    ExpectedError
        In people or trips, and as shares.
    """
    one = promise.granularity / scale_of(promise)
    half, typical = promise.half_width / one, _MEDIAN * promise.sigma / one
    return ExpectedError(
        epsilon=promise.epsilon,
        delta=promise.delta,
        half_width=half,
        least_shown=promise.least_shown / one,
        by_size=tuple(typical / size for size in SIZES),
    )


def error_in_words(error: ExpectedError) -> str:
    """One line on an expected error.

    Examples
    --------
    >>> error_in_words(ExpectedError(epsilon=1.0, delta=1e-8, half_width=10.57, least_shown=21.13,
    ...                              by_size=(0.073, 0.036, 0.012)))[:60]
    'epsilon 1: 95 % of cells are off by at most 10.6; half of th'
    """
    sizes = ", ".join(
        f"of {size} by {100 * share:.2g} %" for size, share in zip(SIZES, error.by_size, strict=True)
    )
    return (
        f"epsilon {error.epsilon:.3g}: 95 % of cells are off by at most {error.half_width:.3g}; half of "
        f"the cells {sizes}; shown from {error.least_shown:.3g} on"
    )
