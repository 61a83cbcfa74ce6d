"""``python -m shoal`` is the command line."""

from shoal.cli.main import main

main()
