"""Axes, curves, maps, their SVG, and the figures of a record."""
