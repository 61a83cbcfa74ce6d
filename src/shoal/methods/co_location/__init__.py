"""NWA and W4M, which move people into a common cylinder."""
