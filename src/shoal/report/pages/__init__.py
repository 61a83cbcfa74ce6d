"""One file per page, to self-contained HTML."""
