"""The device that takes part: its state on disk, its profile, its side of HTTP."""
