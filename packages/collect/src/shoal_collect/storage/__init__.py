"""Storage of the servers: SQLite or PostgreSQL with one set of statements."""
