"""Searches for leaks in the files of a release."""
