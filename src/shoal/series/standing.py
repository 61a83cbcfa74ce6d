"""How a series stands, in numbers."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from shoal.series.attendance import count_companions
from shoal.series.state import SeriesState


def standing_of(state: SeriesState) -> dict[str, Any]:
    """Releases of the current series, its people, and crowds by how many people each can still lose.

    A crowd can lose the fewest companions of its people, less k. Only people of the last release count.
    """
    members, k = state.members, state.facts.k
    last = len(state.releases) - 1
    present = np.flatnonzero(members.attended[:, last // 64] >> np.uint64(last % 64) & np.uint64(1))
    companions = count_companions(members.crowd[present], members.attended[present])
    crowds, place = np.unique(members.crowd[present], return_inverse=True)
    fewest = np.full(len(crowds), np.iinfo(np.int64).max)
    np.minimum.at(fewest, place, companions)
    spare, number = np.unique(fewest - k, return_counts=True)
    return {
        "series": state.number,
        "k": k,
        "people": len(members.names),
        "crowds_by_spare": {str(s): n for s, n in zip(spare.tolist(), number.tolist(), strict=True)},
        "releases": [
            {
                "first": _moment(release.first_s),
                "end": _moment(release.end_s),
                **release.model_dump(include={"people", "published", "waiting", "newcomers", "crowds"}),
                "uncertain": release.uncertain,
            }
            for release in state.releases
        ],
    }


def _moment(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
