"""The command line: parse, call, print. One file per group of commands."""
