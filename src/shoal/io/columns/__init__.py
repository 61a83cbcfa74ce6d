"""What a column means."""
