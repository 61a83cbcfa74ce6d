"""State on disk, profile, HTTP client."""
