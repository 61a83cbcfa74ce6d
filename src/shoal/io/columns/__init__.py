"""What a column means: identifiers, times, positions, and layouts of known data sets."""
