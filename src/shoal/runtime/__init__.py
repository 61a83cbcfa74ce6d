"""How work runs: progress, checkpoints, compiled loops, randomness, complete files."""
