"""From raw data to a folder with a table: zones, contributions, bound, noise, ledger, files."""
