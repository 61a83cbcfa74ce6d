"""What the commands check, verify, attack and measure do with tables."""
