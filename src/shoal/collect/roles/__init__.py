"""Participant, collector and authority, and a device's way through a round.

Time and randomness are arguments.
"""
