"""How often a property is tried, as a part or a multiple of what the profile asks (tests/conftest.py)."""

from hypothesis import settings


def tries(times: float) -> int:
    """So many times the examples of the profile, at least three."""
    assert settings.default is not None
    return max(3, round(times * settings.default.max_examples))


def examples(times: float) -> settings:
    """A property that is asked so many times the examples of the profile."""
    return settings(max_examples=tries(times))
