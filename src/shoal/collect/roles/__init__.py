"""Participant, collector and authority, and a device's way through a round; time and randomness are arguments."""
