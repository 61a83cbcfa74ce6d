"""Blocks of people, and the engines that work on them."""
