"""Searches for identifiers and other leaks in the files of a release."""
