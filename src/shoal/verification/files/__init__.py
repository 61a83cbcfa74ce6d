"""Checks of what was written: a folder in memory or in little memory, and the precision of its columns."""
