"""Readers, one file per format, and the way from their rows to Trajectories."""
