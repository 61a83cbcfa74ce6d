"""What pages that a person serves on their own machine need: a guard, forms, drawings, a server."""
