"""Checks of releases of points, with loops of their own."""
