"""Where data lie: files, folders, archives, object stores and servers."""
