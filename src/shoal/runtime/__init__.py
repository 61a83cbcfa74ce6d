"""How work runs."""
