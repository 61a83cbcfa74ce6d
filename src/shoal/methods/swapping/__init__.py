"""SwapLocations and ReachLocations (swap-reach-locations.txt): points that change hands."""
