"""The app of ``shoal collect app``: pages on one's own machine to take part in a collection.

It computes nothing of its own. Files are read by ``shoal.io``, and everything else is done by
``collect.device``, as ``shoal collect join`` does it, with the same state on disk and the same consent.
"""
