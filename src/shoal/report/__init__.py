"""Reports and records: results to one self-contained HTML file."""
