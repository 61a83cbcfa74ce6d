"""The collector, its witnesses and the authority over HTTP."""
