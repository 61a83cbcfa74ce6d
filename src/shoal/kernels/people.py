"""What the search for near pairs knows about everybody: samples, places and times (docs/bounds.md)."""

from typing import NamedTuple

from shoal.kernels.stretch import Raw
from shoal.runtime.arrays import Integers, Numbers


class Places(NamedTuple):
    """Places of all subjects: cells where few enough are in use, else squares of several cells.

    costs: [P, P] least spatial cost between two places, at most half. x, y: [P] lower corners; side: cells
    along each, 1 = exact costs. of_sample: [m]. offsets [n + 1], own, weights: the distinct places of each
    subject and how many of its samples are at each.
    """

    costs: Numbers
    x: Integers
    y: Integers
    side: int
    of_sample: Numbers
    offsets: Integers
    own: Numbers
    weights: Numbers


class Hours(NamedTuple):
    """When subjects are active, in bins of 1 << shift slots from first_t on, n_bins of them.

    slot: [m] of each sample, counted from first_t.
    offsets [n + 1], own, weights: the bins of each subject and how many of its samples are in each.
    """

    first_t: int
    shift: int
    n_bins: int
    slot: Numbers
    offsets: Integers
    own: Numbers
    weights: Numbers


class People(NamedTuple):
    """What is known about everybody."""

    raw: Raw
    places: Places
    hours: Hours
