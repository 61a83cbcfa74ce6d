"""The command line, also as ``python -m shoal``."""

import gc
import signal
import sys

INTERRUPTED = 130
_COLLECT_AFTER = 50_000  # new objects; Python's 700 take a twentieth of a short command


def main() -> None:
    """Run the command; Ctrl-C while it loads or ends is no traceback, and the exit code stays what it was."""
    gc.set_threshold(_COLLECT_AFTER)
    try:
        from shoal.cli.main import main as run

        run()
    except KeyboardInterrupt:  # as it loads, or a second one while the first is reported
        sys.stderr.write("shoal: interrupted; nothing half-written is left\n")
        raise SystemExit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # else one while Python ends would end it with -2
        # A Ctrl-C inside exec of a text, as when a dataclass is made, leaves a mark in CPython that ends the
        # process with -2, although it was handled; the next exec of a text removes the mark.
        exec("")  # noqa: S102  (an empty text)


if __name__ == "__main__":
    main()
