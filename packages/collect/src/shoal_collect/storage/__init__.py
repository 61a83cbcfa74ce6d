"""SQLite or PostgreSQL with one set of statements."""
