"""The command line, also as ``python -m shoal``."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the commands and run the one that was given; Ctrl-C while they load is no traceback."""
    try:
        from shoal.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("shoal: interrupted; nothing half-written is left\n")
        raise SystemExit(INTERRUPTED) from None
    run()


if __name__ == "__main__":
    main()
