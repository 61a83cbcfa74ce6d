"""The participant's device: its state on disk, its profile, its HTTP client."""
