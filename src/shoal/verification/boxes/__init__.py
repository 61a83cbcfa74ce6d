"""Checks of releases of boxes, with loops of their own."""
