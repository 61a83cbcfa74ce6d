"""How sure a rate is, when successes come in parts and victims share records."""

import math
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers

Z_95: Final = 1.959963984540054


def wilson(successes: float, tries: float) -> tuple[float, float]:
    """The 95 % Wilson score interval of a rate.

    Parameters
    ----------
    successes
        0 to ``tries``; may hold parts of a success.
    tries
        At least 1.

    Returns
    -------
    tuple of float
        The lower and the upper end, as fractions.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(5, 10)]
    [0.237, 0.763]
    """
    share = min(successes / tries, 1.0)
    spread = Z_95 * math.sqrt(share * (1 - share) / tries + Z_95**2 / (4 * tries**2))
    middle, scale = share + Z_95**2 / (2 * tries), 1 + Z_95**2 / tries
    return max(0.0, min((middle - spread) / scale, share)), min(1.0, max((middle + spread) / scale, share))


def interval_of(chances: Floats, clusters: Integers, most: float = 1.0) -> tuple[float, float]:
    """A 95 % interval for the mean of chances of success.

    A chance is often a part of a success, which varies less than wins and losses do; and victims who share a
    record win and lose together. So the spread is measured: over clusters of victims, with half a cluster at
    0 and half a one at ``most`` beside those seen, for what was not seen yet. The interval is Wilson's, for
    as many independent tries, each won or lost, as show the mean with this spread.

    Parameters
    ----------
    chances : float64 [v]
        The chance of success against each victim, 0 to ``most``.
    clusters : int64 [v]
        Victims of equal number share a record.
    most
        The greatest chance that there can be against anybody, above 0: 1 / k where k records are equal.

    Returns
    -------
    tuple of float
        The lower and the upper end, as fractions.

    References
    ----------
    Kish: Survey sampling, 1965, Sec. 6.3 and 8.2 (a mean over clusters, effective number of tries). Korn and
    Graubard: Confidence intervals for proportions with small expected number of positive counts, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> won = np.array([1.0, 0.0, 0.0, 0.0] * 50)
    >>> [round(end, 3) for end in interval_of(won, np.arange(200))]
    [0.195, 0.314]
    >>> [round(end, 3) for end in interval_of(won / 2, np.arange(200), most=0.5)]
    [0.098, 0.157]
    >>> [round(end, 3) for end in interval_of(np.sort(won), np.arange(200) // 4)]
    [0.153, 0.38]
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(cluster)
    groups, typical = len(sizes), float(sizes.mean())
    n = len(chances) + typical
    mean = (float(chances.sum()) + typical * most / 2) / n
    apart = np.bincount(cluster, weights=chances - mean)
    unseen = typical**2 * ((most - mean) ** 2 + mean**2) / 2
    variance = (float((apart**2).sum()) + unseen) / n**2 * (groups + 1) / (groups + 2)
    share = mean / most
    tries = share * (1 - share) / (variance / most**2)
    seen = min(float(chances.mean()) / most, 1.0)
    low, high = wilson(seen * tries, tries)
    return most * low, most * high
