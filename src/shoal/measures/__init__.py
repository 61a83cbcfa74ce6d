"""Measures of trajectories and releases: stretch, nearest pairs, k-gap, distances, queries, presence."""
