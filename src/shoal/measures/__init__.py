"""What is measured on trajectories and releases alike.

Stretch, nearest pairs, k-gap, distances, queries, presence.
"""
