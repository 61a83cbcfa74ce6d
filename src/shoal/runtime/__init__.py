"""How any work is run: progress, checkpoints, compiled loops, randomness, files that are whole or absent."""
