"""What is measured on trajectories and releases alike: stretch, nearest pairs, k-gap, distances, queries, presence."""
