"""Uncertain points, similarity of sub-trajectories, and the points that a person keeps."""
