"""Discrete Gaussian noise: OpenDP's exact sampler for publication, a seeded stand-in for research."""

from importlib.metadata import version
from typing import Final

import numpy as np

from shoal.errors import EngineError, MissingExtraError
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal_tables.definition.manifest import STAND_IN
from shoal_tables.making.promise import rho_of

_AT_ONCE: Final = 50_000


def sampler_name(rng: Randomness) -> str:
    """The sampler with its version, as a manifest states it; MissingExtraError without OpenDP."""
    if not rng.publishable:
        return STAND_IN
    try:
        import opendp  # noqa: F401  (named in the error when it is missing)
    except ImportError as error:
        raise MissingExtraError(
            "a table for publication gets its noise from OpenDP; install it with: pip install "
            "'shoal-tables[noise]'"
        ) from error
    return f"opendp {version('opendp')}"


def add_noise(counts: Integers, sigma: int, sensitivity: int, rng: Randomness) -> Integers:
    """Add independent discrete Gaussian noise to each count.

    Parameters
    ----------
    counts : int64 [n]
        Exact sums.
    sigma : int
        Standard deviation.
    sensitivity : int
        In L2; OpenDP's own account is checked against it.
    rng : Randomness
        The system's for publication (OpenDP then draws from the system itself), or a research seed.

    Returns
    -------
    int64 [n]
        Noisy counts.
    """
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
