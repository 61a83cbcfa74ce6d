"""Figures: axes, curves, maps, their SVG, and the table of the figures of a record."""
