"""The check of a table against the raw data; it shares no code with the maker."""
