"""What a release is still good for: one table of metrics for boxes and points, and ``measure``.

A metric is a function of the facts of a release in one of the files of this room, and a row of METRICS.
"""

from shoal.utility.facts import Facts, Value
from shoal.utility.measuring import Measurement, Measurements, Metric
from shoal.utility.metrics import METRICS, measure, measure_facts, metrics_of_every_release, register_metric

__all__ = [
    "METRICS",
    "Facts",
    "Measurement",
    "Measurements",
    "Metric",
    "Value",
    "measure",
    "measure_facts",
    "metrics_of_every_release",
    "register_metric",
]
