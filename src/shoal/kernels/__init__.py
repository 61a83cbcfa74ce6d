"""Compiled loops over plain arrays: no API, no input or output. Each has a slow oracle in the tests."""
