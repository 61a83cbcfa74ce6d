"""The desk: all steps from a file to a signed record, on pages of one's own machine.

The desk computes nothing. Every result on its pages is what a command of shoal printed, the command stands
beside it, and the pages only choose its arguments.
"""
