"""Uncertain points, when two pieces of a trip count as the same, and what a person keeps."""
