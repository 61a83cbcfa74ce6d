"""Independent checks of a release, from raw data, release and linkage alone; shares no code with the methods."""
