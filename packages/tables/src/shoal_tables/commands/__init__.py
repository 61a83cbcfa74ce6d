"""The commands check, verify, attack and measure for tables."""
