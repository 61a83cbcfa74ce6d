"""Participant, collector, authority, and a device in a round."""
