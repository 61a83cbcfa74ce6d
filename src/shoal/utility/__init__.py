"""What a release is still good for: one table of metrics for boxes and points, one function that asks them.

A metric is a function of the facts of a release in one of the files of this room, and a row of METRICS.
"""

from shoal.utility.facts import Facts
from shoal.utility.measuring import Measured, Measurement, Metric, Value
from shoal.utility.metrics import METRICS, OF_EVERY_RELEASE, measure, measured

__all__ = [
    "METRICS",
    "OF_EVERY_RELEASE",
    "Facts",
    "Measured",
    "Measurement",
    "Metric",
    "Value",
    "measure",
    "measured",
]
