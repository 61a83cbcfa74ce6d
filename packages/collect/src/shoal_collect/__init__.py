"""The user-centric protocol (Romero-Tris and Megías 2018).

People protect themselves before they send, and no table of raw data ever exists. Everything here is
sans-IO. docs/collect.md says what is promised and what is not.
"""
