"""Tables made elsewhere: which hidden cells follow from the others."""
