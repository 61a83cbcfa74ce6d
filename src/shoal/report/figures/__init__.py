"""Drawings: the dress that all share, curves and maps, and the table of the figures of a record."""
