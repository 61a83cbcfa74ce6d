"""Measures of trajectories and releases."""
