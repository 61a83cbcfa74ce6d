"""Adversaries on tables, each compared with guessing and with the bound of the promise."""
