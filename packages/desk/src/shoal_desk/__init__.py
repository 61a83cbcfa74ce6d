"""The desk: all steps from a file to a signed record, on local pages.

The desk computes nothing. Every result comes from a command of shoal, which the page shows.
"""
