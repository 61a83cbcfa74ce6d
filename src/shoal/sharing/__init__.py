"""One's own tracks, shared without the places where one lives: zones, stays, and what is left to learn."""
