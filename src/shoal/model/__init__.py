"""The data model: trajectories, releases, linkage, claims and verdicts, without methods or file formats."""
