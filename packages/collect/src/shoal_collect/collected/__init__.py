"""What a collection holds, as tables that analysts, maps and attacks read."""
