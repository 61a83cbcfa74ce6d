"""How far a table is from the exact counts of the raw data."""
