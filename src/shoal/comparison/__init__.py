"""Compare several releases of one input."""
