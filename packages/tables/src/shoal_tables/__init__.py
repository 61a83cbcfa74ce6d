"""Tables of counts and flows under differential privacy, which a stranger can check."""
