"""Small releases of points written out record by record, with raw data, linkage and findings."""

from typing import Any

import numpy as np

from claim_check import verdict_on_claim
from shoal.model.claims import Claim, KDeltaAnonymity
from shoal.model.release import Linkage, Losses, Points, Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories

Point = tuple[float, float, float]
Case = tuple[Trajectories, Release, Linkage]
Found = tuple[str, str | None, str]
K_DELTA = KDeltaAnonymity(k=2, delta_m=10)
PAIR = [[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [(0.0, 10.0, 0.0), (1.0, 6.0, 8.0)]]


def published(records: list[list[Point]], claim: Claim = K_DELTA, **changes: Any) -> Release:
    """Records r0, r1, ... of these points, as they stand."""
    t, x, y = (
        np.array([point for record in records for point in record], dtype=np.float64).reshape(-1, 3).T.copy()
    )
    fields_of_release: dict[str, Any] = {
        "trajectory_ids": tuple(f"r{number}" for number in range(len(records))),
        "offsets": np.cumsum([0, *map(len, records)], dtype=np.int64),
        "payload": Points(t=t, x=x, y=y),
        "claim": claim,
        "grid": None,
        "method": "told",
        "parameters": {},
        "losses": Losses(),
        "crs": None,
        "unit_of_protection": "each subject",
        "publishable": False,
    }
    return Release(**(fields_of_release | changes))


def raw(records: list[list[Point]]) -> Trajectories:
    """People p0, p1, ... with these samples."""
    rows = [(f"p{i}", *point) for i, person_samples in enumerate(records) for point in person_samples]
    return Trajectories.from_rows(*zip(*rows, strict=True))


def linked(n: int, trace: Trace | None = None) -> Linkage:
    return Linkage(tuple(f"p{i}" for i in range(n)), tuple(f"r{i}" for i in range(n)), trace)


def found_in(case: Case) -> list[Found]:
    return [
        (finding.kind, finding.trajectory_id, finding.message) for finding in verdict_on_claim(*case).findings
    ]
