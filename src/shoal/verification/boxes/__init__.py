"""Checks of releases of boxes."""
