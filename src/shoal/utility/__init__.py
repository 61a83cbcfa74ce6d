"""What a release is still good for."""

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
