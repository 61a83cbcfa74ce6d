"""How work is run, whatever the work.

Progress, checkpoints, compiled loops, randomness, files that are whole or absent.
"""
