"""Checks of releases of points."""
