"""Beyond memory and beyond one machine: blocks of people, and the engines that work on them."""
