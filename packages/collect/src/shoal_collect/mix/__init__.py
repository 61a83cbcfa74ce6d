"""A mix run among the members of a group."""
