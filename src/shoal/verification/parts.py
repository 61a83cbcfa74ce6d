"""PARTS, the one table of what claims consist of: each part in words, and what its check needs.

A row of CHECKS names the parts of its claim; the check marks each that it has looked at. A part that nobody
marked was not checked, and then the claim does not hold.
"""

from dataclasses import dataclass
from typing import Final

LINKAGE: Final = "the linkage"
_RAW_DATA: Final = "raw data that the release can be compared with"
_TRACE: Final = "origin.parquet beside the linkage"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a claim. what: in words; needs: without what it cannot be checked."""

    what: str
    needs: str

    @property
    def words(self) -> str:
        """As a verdict shows a part that was not checked."""
        return f"{self.what} (needs {self.needs})"


PARTS: Final[dict[str, Part]] = {
    # every claim
    "account": Part(what="the rows dropped on input and the unit of protection", needs=_RAW_DATA),
    "subjects": Part(what="that each subject has exactly one record", needs=LINKAGE),
    "order": Part(what="whether the records follow the order of the input", needs=LINKAGE),
    # of boxes
    "classes": Part(what="that each record is identical to k - 1 others", needs="the records"),
    "own-samples": Part(what="that each box holds samples of its own people, and no more", needs=LINKAGE),
    "lost-samples": Part(what="how many samples were suppressed", needs=LINKAGE),
    "sizes": Part(what="that no box is smaller than claimed", needs="the records"),
    "candidates": Part(what="how many records fit in each interval of length tau", needs=LINKAGE),
    # of points
    "near": Part(what="that k - 1 others stay within delta of each record", needs="the records"),
    "counts": Part(what="how many points were suppressed and created", needs=_RAW_DATA),
    "true-points": Part(what="that each point is a true one and none stands twice", needs=_RAW_DATA),
    "own-times": Part(what="that each record has the times of its own person", needs=LINKAGE),
    "swap-sets": Part(what="where each point came from, its swap set and the thresholds", needs=_TRACE),
    "shuffle": Part(
        what="whether the shuffle was fair",
        needs=f"{_TRACE}, and 26 swap sets or more, fewer where they are large",
    ),
    "paths": Part(
        what="the length of the paths along the streets",
        needs="the trace and the street graph: --streets-nodes, --streets-edges",
    ),
}
