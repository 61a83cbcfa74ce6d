"""SwapLocations and ReachLocations (Domingo-Ferrer and Trujillo-Rasua 2012): points are exchanged."""
