"""The data model: trajectories, releases, linkage, claims and verdicts.

Data and their own rules; no method, no file format.
"""
