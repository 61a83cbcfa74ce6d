"""Shared parts of pages served on the user's own machine: a guard, forms, drawings, a server."""
