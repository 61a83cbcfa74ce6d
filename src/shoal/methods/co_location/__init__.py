"""NWA and W4M, the comparators that move points: people are moved into one cylinder."""
