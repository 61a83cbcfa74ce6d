"""Participant, collector, authority, and a device in a round; time and randomness are arguments."""
