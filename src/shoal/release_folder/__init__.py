"""The files of a release: manifest, the table of boxes or points, and what the publisher states."""
