"""Compiled loops over plain arrays. Each has a slow oracle in the tests."""
