"""One file per page: results in, the text of one self-contained HTML file out."""
