"""Results to one self-contained HTML file."""
