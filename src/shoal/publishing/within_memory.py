"""Whether a publication fits into a given memory all at once, or has to be made in blocks."""

from pathlib import Path

from shoal.errors import MisuseError
from shoal.model.intake import Reading
from shoal.publishing.planning import Counts, count
from shoal.runtime.run import Run
from shoal.scale.memory import ALL_AT_ONCE, PEAKS, MemoryBound
from shoal.units import show_bytes


def bound_of_blocks(
    source: str | Path, reading: Reading, bound: MemoryBound, run: Run, *, in_one_piece: str | None = None
) -> MemoryBound | None:
    """As ``bound_for``, of an input that is read once to count it. Raises as that and as reading does."""
    return bound_for(count(source, reading, run), bound, in_one_piece=in_one_piece)


def bound_for(counts: Counts, bound: MemoryBound, *, in_one_piece: str | None = None) -> MemoryBound | None:
    """None where everything fits at once, else the bound for blocks.

    in_one_piece: an option that needs everything at once. Raises MisuseError with what would be enough when
    there is one and it does not fit.
    """
    people, samples = counts.people, counts.samples
    needed = PEAKS[ALL_AT_ONCE].of(people, samples)
    if needed <= bound.total_bytes:
        return None
    if in_one_piece is not None:
        raise MisuseError(
            f"{in_one_piece} needs everything at once, and {people:,} people with {samples:,} samples "
            f"need --memory {show_bytes(needed)} for that; leave it out to work in blocks"
        )
    return bound
