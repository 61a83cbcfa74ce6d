"""What the files of a release say beside its claim."""
