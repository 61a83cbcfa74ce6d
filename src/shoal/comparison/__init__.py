"""Compare several releases of one input: studies, their results, and kte-hide for several tau."""
