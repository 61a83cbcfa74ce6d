"""The command line, also as ``python -m shoal``."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command; Ctrl-C while it loads is no traceback."""
    try:
        from shoal.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("shoal: interrupted; nothing half-written is left\n")
        raise SystemExit(INTERRUPTED) from None
    run()


if __name__ == "__main__":
    main()
