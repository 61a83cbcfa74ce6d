"""The commands of ``shoal collect``: parse, call, print."""
