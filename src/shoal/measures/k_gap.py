"""Exposure before publication: k-gap and tails (Gramaglia and Fiore 2015, Sec. 4.2 and 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.kernels.nearest_samples import fill_gap_parts
from shoal.measures.few_people import fill_gap_parts_of_few
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps, trajectories_of_arrays
from shoal.model.argument_checks import require_people, require_trajectories
from shoal.model.claims.common import require_k
from shoal.model.frames import data_frame
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import are_few
from shoal.runtime.run import Run
from shoal.units import is_number

if TYPE_CHECKING:
    from pandas import DataFrame

_ALL_UP_TO: Final = 2_000
_DRAWN: Final = 1_000
_DRAW_SEED: Final = 1_115  # the same people for the same data
_AT_ONCE: Final = 512  # people per progress report
_Z: Final = {0.5: 0.0, 0.75: 0.6744897501960817, 0.99: 2.3263478740408408}  # standard normal quantiles


@dataclass(frozen=True, eq=False, kw_only=True)
class KGap:
    """The k-gap of n subjects, in their order.

    Parameters
    ----------
    k : int
        People to share a record.
    gap : float64 [n]
        0 = already hidden, 1 = isolated (Eq. 11).
    space, time : float64 [n]
        Its parts, gap = space + time (Sec. 5.3).
    tail_weight, tail_weight_space, tail_weight_time : float64 [n]
        The Tail Weight Index of the subject's sample stretches (Fig. 5a); nan where the middle of the
        distribution is flat.
    space_cap_m, time_cap_s : float
        The stretches that count as total loss.
    subjects : int64 [n] or None
        The subjects, ascending; None = all.
    """

    k: int
    gap: Floats
    space: Floats
    time: Floats
    tail_weight: Floats
    tail_weight_space: Floats
    tail_weight_time: Floats
    space_cap_m: float
    time_cap_s: float
    subjects: Integers | None = None

    def to_dataframe(self) -> "DataFrame":
        """A row for each subject: its position in the data, the gap and its parts; needs pandas."""
        subjects = np.arange(len(self.gap)) if self.subjects is None else self.subjects
        names = ("gap", "space", "time", "tail_weight", "tail_weight_space", "tail_weight_time")
        return data_frame({"subject": subjects, **{name: getattr(self, name) for name in names}})


@typed
def k_gap(
    trajectories: Trajectories | Sequence[npt.ArrayLike],
    k: int = 2,
    *,
    caps: Caps | None = None,
    run: Run | None = None,
) -> KGap:
    """The k-gap of every subject: the mean stretch effort to the k - 1 nearest others.

    Parameters
    ----------
    trajectories : Trajectories or sequence of array-like [m, 3]
        Snapped trajectories; or, for each subject, rows of (t, x, y) in seconds and meters, which are snapped
        to 60 s and 100 m.
    k : int
        People to share a record, at least 2.
    caps : Caps or None
        The stretches that count as total loss; None = 20 km and 8 h.
    run : Run or None
        Progress and threads; None = local and silent.

    Returns
    -------
    KGap
        The gap of each subject, with its parts in space and time and their tails.

    Raises
    ------
    MisuseError
        When k < 2 or there are fewer than k people.

    References
    ----------
    Gramaglia and Fiore 2015, Sec. 4.2 and 5, Eq. 11.

    Examples
    --------
    >>> import shoal
    >>> shoal.k_gap([[(0, 0, 0)], [(3600, 2000, 0)]], k=2).gap.tolist()
    [0.1125, 0.1125]
    """
    if not isinstance(trajectories, (Trajectories, list, tuple, np.ndarray)):
        require_trajectories(trajectories)
    original = (
        trajectories if isinstance(trajectories, Trajectories) else trajectories_of_arrays(trajectories)
    )
    return k_gaps(original, [k], caps=caps, run=run)[0]


def sample_for_k_gap(n: int) -> Integers | None:
    """A reproducible sample of 1,000 subjects; None = all, up to 2,000."""
    return None if n <= _ALL_UP_TO else sample_people(n, _DRAWN)


def sample_people(n: int, at_most: int) -> Integers:
    """A reproducible sample of ``at_most`` of ``n``, at most 1,000, ascending."""
    drawn = np.random.default_rng(_DRAW_SEED).choice(n, min(at_most, _DRAWN, n), replace=False)
    return np.sort(drawn).astype(np.int64)


def nearest_others(
    original: Trajectories, count: int, subjects: Integers, below: float | Floats, run: Run
) -> tuple[Integers, Floats]:
    """[s, count] the nearest of each subject, ties by number, and their efforts."""
    # below: excluded upper limit of efforts; missing others are subject n at infinite effort
    near = NearPairs(original, Caps(), run)
    limits = np.zeros(original.n_subjects)
    limits[subjects] = below
    lists = near.nearest_others(count, _flags(near, subjects), limits)
    return lists.partner[subjects], lists.effort[subjects]


@typed
def k_gaps(
    original: Trajectories,
    ks: Sequence[int],
    *,
    caps: Caps | None = None,
    run: Run | None = None,
    subjects: Integers | None = None,
) -> list[KGap]:
    """The k-gaps for each k, from one search.

    Parameters
    ----------
    original : Trajectories
        Snapped trajectories.
    ks : sequence of int
        People to share a record, each at least 2.
    caps : Caps or None
        The stretches that count as total loss; None = 20 km and 8 h.
    run : Run or None
        Progress and threads; None = local and silent.
    subjects : int64 [s] or None
        The positions of those whose gaps are asked, ascending, each among all people; None = all.

    Returns
    -------
    list of KGap
        One for each of ``ks``.

    Raises
    ------
    MisuseError
        When a k is below 2, or there are fewer people than k.

    Examples
    --------
    >>> import shoal
    >>> city = shoal.read(shoal.synthesize(n_subjects=20, days=2, seed=1))
    >>> [gaps.k for gaps in shoal.k_gaps(city, [2, 5])]
    [2, 5]
    """
    require_trajectories(original)
    if is_number(ks):
        raise MisuseError(f"k is a list of numbers here; write [{ks}]")
    caps, n = caps or Caps(), original.n_subjects
    for k in ks:
        require_k(k)
        require_people(n, k)
    if not ks:
        return []
    if subjects is not None:
        subjects = _require_subjects(subjects, n)
    run = run or Run()
    near = NearPairs(original, caps, run)
    neighbors = near.nearest_others(max(ks) - 1, _flags(near, subjects)).partner
    return [_gap_to(near, neighbors[:, : k - 1], subjects, caps, run) for k in ks]


def _gap_to(near: NearPairs, neighbors: Integers, subjects: Integers | None, caps: Caps, run: Run) -> KGap:
    original, n, k = near.original, len(near.lengths), neighbors.shape[1] + 1
    neighbors, scale = np.ascontiguousarray(neighbors), near.scale
    parts, tails = np.empty((n, 2)), np.empty((n, 3))

    def part(subjects: Integers) -> None:
        if are_few(original.n_samples, n):
            fill_gap_parts_of_few(original, subjects, neighbors, scale, parts, tails)
            return
        fill_gap_parts(near.people.raw, subjects, neighbors, scale, parts, tails, int(near.lengths.max()))

    asked = np.arange(n) if subjects is None else subjects
    pieces = np.array_split(asked, max(len(asked) // _AT_ONCE, run.threads))
    for _ in run.map(part, pieces, label="measuring the gap"):
        pass
    space, time = parts[asked].T / (2 * scale.half)
    together, in_space, in_time = tails[asked].T / ((_Z[0.99] - _Z[0.5]) / (_Z[0.75] - _Z[0.5]))
    return KGap(
        k=k,
        gap=space + time,
        space=space,
        time=time,
        tail_weight=together,
        tail_weight_space=in_space,
        tail_weight_time=in_time,
        space_cap_m=caps.space_cap_m,
        time_cap_s=caps.time_cap_s,
        subjects=subjects,
    )


@typed
def tail_weight_index(values: npt.ArrayLike) -> float:
    """Weight of the upper tail: ((Q99 - Q50) / (Q75 - Q50)) / ((z99 - z50) / (z75 - z50)).

    Parameters
    ----------
    values : array-like [m]
        Numbers in any order.

    Returns
    -------
    float
        1 for a normal tail, 1.6 for an exponential one, 14 for Pareto(1); nan when Q75 equals Q50.

    References
    ----------
    Gramaglia and Fiore 2015, Sec. 5.3, footnote 5; Hoaglin, Mosteller and Tukey 1983.

    Examples
    --------
    >>> import shoal
    >>> round(shoal.tail_weight_index(range(101)), 3)
    0.568
    """
    middle, upper, top = (
        float(value) for value in np.quantile(np.asarray(values, dtype=np.float64), [0.5, 0.75, 0.99])
    )
    if upper == middle:
        return float("nan")
    return (top - middle) / (upper - middle) / ((_Z[0.99] - _Z[0.5]) / (_Z[0.75] - _Z[0.5]))


def _require_subjects(subjects: Integers, n: int) -> Integers:
    positions = np.asarray(subjects)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise MisuseError("subjects is a list of positions, whole numbers from 0; write for example [0, 3]")
    if len(positions) == 0 or positions.min() < 0 or positions.max() >= n:
        raise MisuseError(f"subjects must name some of the {n} people by position, from 0 to {n - 1}")
    return np.unique(positions.astype(np.int64))


def _flags(near: NearPairs, subjects: Integers | None) -> Flags:
    flags = np.full(len(near.lengths), subjects is None)
    if subjects is not None:
        flags[subjects] = True
    return flags
