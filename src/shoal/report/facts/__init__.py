"""The numbers of the pages, computed before drawing and wording."""
