"""SwapLocations and ReachLocations (swap-reach-locations.txt): points change hands."""
