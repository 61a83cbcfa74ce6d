"""People on disk: inputs read in pieces, spilled and sorted in little memory."""
