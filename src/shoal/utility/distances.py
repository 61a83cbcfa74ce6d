"""Points as they were given: how far raw samples lie from their person's record, and what was removed."""

from shoal.utility.facts import Facts
from shoal.utility.measuring import Value


def total_distortion(facts: Facts) -> Value:
    """The sum of all distances, meters."""
    return Value(value=facts.distortion.total_distortion_m)


def mean_distortion(facts: Facts) -> Value:
    """The mean distance, meters."""
    return Value(value=facts.distortion.mean_distortion_m)


def times_defined(facts: Facts) -> Value:
    """Share of the raw samples at whose time their person's record has a place."""
    defined = facts.distortion.defined
    return Value(value=defined / facts.original.n_samples, count=defined)


def same_time_distortion(facts: Facts) -> Value:
    """The sum of the distances at equal time stamps, meters."""
    return Value(value=facts.distortion.total_at_same_times_m)


def same_times(facts: Facts) -> Value:
    """Share of the raw samples at whose very time their person's record has a point."""
    stamped = facts.distortion.at_same_times
    return Value(value=stamped / facts.original.n_samples, count=stamped)


def removed_trajectories(facts: Facts) -> Value:
    """Share of the people who have no record."""
    return Value(value=facts.distortion.removed_trajectories)


def removed_locations(facts: Facts) -> Value:
    """How many points fewer than raw samples there are, as a share of these."""
    return Value(value=facts.distortion.removed_locations)
