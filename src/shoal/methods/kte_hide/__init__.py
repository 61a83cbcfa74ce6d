"""kte-hide (kte-anonymity.txt): other people hide each person in every epoch."""
