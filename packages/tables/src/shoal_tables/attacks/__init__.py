"""Adversaries on tables, each beside guessing and beside what the promise allows."""
