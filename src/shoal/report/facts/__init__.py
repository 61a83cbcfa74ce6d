"""The numbers of the pages."""
