"""How long the rest of a piece of work takes."""

import pytest

from shoal.runtime.pace import Pace


@pytest.mark.parametrize(
    ("done", "now_s", "left_s"),
    [
        (25, 11.0, 30.0),  # a quarter in ten seconds
        (1, 11.0, None),  # the first hundredth says little: "28 h left" at 0 % of ten minutes
        (25, 1.5, None),
        (0, 100.0, None),
        (100, 11.0, 0.0),
    ],
)
def test_the_rest_goes_as_what_is_done_went(done: int, now_s: float, left_s: float | None) -> None:
    pace = Pace(0, 1.0)
    assert not pace.go_on(done, now_s)
    assert pace.left_s(100, now_s) == left_s


def test_what_a_resumed_job_finds_says_nothing_of_its_pace() -> None:
    pace = Pace(60, 0.0)
    pace.go_on(80, 10.0)
    assert pace.left_s(100, 10.0) == 10.0


def test_work_that_begins_anew_has_a_new_pace() -> None:
    pace = Pace(0, 0.0)
    pace.go_on(100, 1000.0)
    assert pace.go_on(0, 1001.0)
    pace.go_on(50, 1003.0)
    assert pace.left_s(100, 1003.0) == 2.0
