"""The version of shoal, once."""

__version__ = "0.1.0"
