"""The published methods: one file each, a frozen dataclass of parameters with one verb."""
