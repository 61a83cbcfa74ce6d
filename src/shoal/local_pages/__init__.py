"""Shared by pages on the user's machine."""
