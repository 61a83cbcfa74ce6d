"""How work is run, whatever the work: progress, checkpoints, compiled loops, randomness, files that are whole or absent."""
