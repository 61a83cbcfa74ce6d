"""From trajectories to a verified release folder."""
