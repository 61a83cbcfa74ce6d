"""A mix run among the members of a group: messages, states, transcript and blame."""
