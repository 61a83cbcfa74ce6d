"""Where data lie."""
