"""Formats of files: one reader each, and the table of them."""
