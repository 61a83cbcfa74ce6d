"""NWA and W4M: people moved into one cylinder. The comparators that move points."""
