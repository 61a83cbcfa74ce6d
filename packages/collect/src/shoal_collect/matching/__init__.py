"""Uncertain points, similarity, and the points that a person keeps."""
