"""kte-hide (kte-anonymity.txt): other people hide somebody in every epoch."""
