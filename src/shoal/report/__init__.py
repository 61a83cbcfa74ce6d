"""Results to one self-contained HTML file; templates apart from computation."""
