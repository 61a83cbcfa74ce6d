"""Collected releases as tables for analysts, maps and attacks."""
