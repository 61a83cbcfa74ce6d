"""The app of ``shoal collect app``: local pages to take part in a collection.

It computes nothing itself: ``shoal.io`` reads files, and ``device`` does the rest as for ``shoal collect
join``, with the same state on disk and the same consent.
"""
