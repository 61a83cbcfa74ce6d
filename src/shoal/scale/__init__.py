"""Beyond memory and beyond one machine.

Blocks of people, the engines that work on them, and the release they make together.
"""
