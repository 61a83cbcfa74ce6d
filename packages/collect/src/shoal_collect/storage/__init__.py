"""What a server keeps: SQLite or PostgreSQL behind one set of statements."""
