"""From trajectories to a release folder: anonymize, verify, write, and verify the files."""
