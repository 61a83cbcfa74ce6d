"""Beyond memory and beyond one machine: blocks of people, the engines that work on them, and the release they make together."""
