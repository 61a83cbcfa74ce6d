"""Synthetic people with realistic habits (docs/synthetic.md)."""

from shoal.synthetic.generator import Counts, synthesize, write_synthetic
from shoal.synthetic.stations import Layout, Stations, read_stations

__all__ = ["Counts", "Layout", "Stations", "read_stations", "synthesize", "write_synthetic"]
