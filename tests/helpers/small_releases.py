"""Random people and a naive release of them, for tests that need one but no method, and its record.

Crowds of neighbors, a few hull boxes each.
"""

from collections.abc import Sequence

import numpy as np

from naive_release import stating
from shoal.measures.k_gap import KGap
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.intake import Intake
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import NOTHING_STATED, Statement
from shoal.report.facts.evidence import Evidence
from shoal.report.pages.record import record_page
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts


def random_people(
    n: int,
    samples: int,
    *,
    seed: int = 0,
    days: int = 7,
    cells: int = 200,
    grid: Grid | None = None,
    crs: str | None = None,
    intake: Intake | None = None,
) -> Trajectories:
    """``n`` people with about ``samples`` samples each, wandering around a home cell during ``days``."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(n), np.maximum(1, rng.poisson(samples, n)))
    home = rng.normal(0, cells / 4, (n, 2))
    place = (home[own] + rng.exponential(6, (len(own), 2)) * rng.choice([-1, 1], (len(own), 2))).astype(
        np.int64
    )
    slot = (1_700_000_000 // 60) + rng.integers(0, days * 1440, len(own))
    return Trajectories.from_rows(
        [f"subject-{i:05d}" for i in own],
        slot,
        place[:, 0],
        place[:, 1],
        grid=grid or Grid(),
        crs=crs,
        intake=intake
        or Intake(
            rows_read=len(own) + 12,
            dropped={"latitude outside -90..90": 9, "empty time": 3},
            repaired={"times without a zone read as UTC": 4},
            unit_of_protection="each subject",
        ),
    )


def naive_release(
    original: Trajectories,
    *,
    k: int = 2,
    boxes_per_record: int = 4,
    publishable: bool = True,
    truthful: bool = True,
    suppress: int = 0,
) -> tuple[Release, Linkage]:
    """Crowds of ``k`` (the last one larger), each cut into time intervals and one hull box per interval.

    The last crowds are suppressed.
    """
    crowds = []
    bounds = list(range(0, original.n_subjects - k + 1, k))
    for position, start in enumerate(bounds):
        end = original.n_subjects if position == len(bounds) - 1 else start + k
        members = np.arange(start, end)
        crowds.append(EquivalenceClass(members=members, boxes=_hulls(original, members, boxes_per_record)))
    return assemble(
        original,
        crowds[: len(crowds) - suppress],
        stating(
            KAnonymity(k=k, truthful=truthful),
            "glove",
            {
                "k": k,
                "space_cap_m": 20_000.0,
                "time_cap_s": 28_800.0,
                "generalize": "reshape-final",
                "suppress_space_m": None,
            },
        ),
        Randomness.from_system() if publishable else Randomness.for_research(7),
    )


def record_of(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    verdict: Verdict,
    gaps: Sequence[KGap],
    *,
    tries: int = 0,
    statement: Statement = NOTHING_STATED,
    private: bool = False,
) -> str:
    """The record of a release with these k-gaps, for which no attack is played unless asked."""
    evidence = Evidence(Facts(original, release, linkage, gaps=gaps), tries=tries)
    return record_page(evidence, verdict, statement=statement, private=private)


def plausible_gap(n: int, k: int = 2, *, seed: int = 0) -> KGap:
    """Skewed values between 0 and 1, mostly small, time heavier than space."""
    rng = np.random.default_rng(seed + k)
    space, time = rng.gamma(2, 0.01 * k**0.5, n), rng.gamma(2, 0.03 * k**0.5, n)
    space, time = np.minimum(space, 0.5), np.minimum(time, 0.5)
    return KGap(
        k=k,
        gap=space + time,
        space=space,
        time=time,
        tail_weight=rng.gamma(4, 0.5, n),
        tail_weight_space=rng.gamma(3, 0.4, n),
        tail_weight_time=np.where(rng.random(n) < 0.02, np.nan, rng.gamma(4, 0.55, n)),
        space_cap_m=20_000.0,
        time_cap_s=28_800.0,
    )


def _hulls(original: Trajectories, members: Integers, pieces: int) -> Boxes:
    t, x, y = (
        np.concatenate(columns)
        for columns in zip(*(original.samples_of(i) for i in members.tolist()), strict=True)
    )
    order = np.argsort(t, kind="stable")
    t, x, y = t[order], x[order], y[order]
    cuts = np.searchsorted(
        t, t[np.linspace(0, len(t) - 1, pieces + 1)[:-1].astype(int)]
    )  # never between two samples of one slot
    low, high = np.minimum.reduceat, np.maximum.reduceat
    cuts = np.unique(cuts)
    return Boxes(
        t_start=low(t, cuts),
        t_end=high(t, cuts) + 1,
        x_min=low(x, cuts),
        y_min=low(y, cuts),
        x_max=high(x, cuts) + 1,
        y_max=high(y, cuts) + 1,
    )


def in_classes(people: Trajectories, classes: list[list[int]], *, k: int = 2) -> tuple[Release, Linkage]:
    """A release in which the people of each class share one box: the hull of all their samples."""
    case = []
    for members in classes:
        t, x, y = (
            np.concatenate(columns) for columns in zip(*(people.samples_of(i) for i in members), strict=True)
        )
        hull = [t.min(), t.max() + 1, x.min(), y.min(), x.max() + 1, y.max() + 1]
        box = dict(
            zip(
                ("t_start", "t_end", "x_min", "y_min", "x_max", "y_max"),
                (np.array([v]) for v in hull),
                strict=True,
            )
        )
        case.append(EquivalenceClass(members=np.array(members), boxes=Boxes(**box)))
    return assemble(people, case, stating(KAnonymity(k=k), "glove"), Randomness.from_system())
