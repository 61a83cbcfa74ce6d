"""From trajectories to a release folder: anonymize, verify, write, verify what was written."""
