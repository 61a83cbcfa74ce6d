"""The numbers of the pages, computed before anything is drawn or worded."""
