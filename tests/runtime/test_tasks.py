"""Tasks: how many things are cut into runs."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.tasks import runs_of


@given(st.integers(0, 500), st.integers(1, 60))
def test_runs_hold_everything_once_and_are_alike(n: int, at_most: int) -> None:
    runs = runs_of(n, at_most)
    assert [one for first, end in runs for one in range(first, end)] == list(range(n))
    lengths = {end - first for first, end in runs}
    assert len(runs) == -(-n // at_most)
    assert max(lengths, default=0) - min(lengths, default=0) <= 1
    assert max(lengths, default=0) <= at_most
