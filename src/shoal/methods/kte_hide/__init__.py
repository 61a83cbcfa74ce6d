"""kte-hide (Gramaglia et al. 2017): other people hide each person in every epoch."""
