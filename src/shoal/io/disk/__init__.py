"""People on disk, read and sorted in little memory."""
