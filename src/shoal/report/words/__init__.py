"""Numbers, claims and settings in words."""
