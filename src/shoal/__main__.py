"""The command line, also as ``python -m shoal``."""

import gc
import os
import signal
import stat
import sys
from typing import Any

INTERRUPTED = 130
_COLLECT_AFTER = 50_000  # new objects; Python's 700 take a twentieth of a short command
_STOP_AGAIN_S = 1.0


def main() -> None:
    """Run the command; Ctrl-C while it loads or ends is no traceback, and the exit code stays what it was."""
    gc.set_threshold(_COLLECT_AFTER)
    sys.unraisablehook = _tell_faults
    signal.signal(signal.SIGALRM, _stop_again)
    for number, handler in ((signal.SIGINT, _stop), (signal.SIGTERM, _stop), (signal.SIGHUP, _hang_up)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, handler)
    try:
        from shoal.cli.main import main as run

        run()
    except KeyboardInterrupt:  # as it loads, or a second one while the first is reported
        sys.stderr.write("shoal: interrupted; nothing half-written is left\n")
        raise SystemExit(INTERRUPTED) from None
    finally:
        for number in (signal.SIGALRM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # else one while Python ends would end it with -2
        # A Ctrl-C inside exec of a text, as when a dataclass is made, leaves a mark in CPython that ends the
        # process with -2, although it was handled; the next exec of a text removes the mark.
        exec("")  # noqa: S102  (an empty text)


def _stop(_signal: int, _frame: Any) -> None:
    """Interrupt, and again: libraries clear an error now and then, above all while they are loaded."""
    signal.setitimer(signal.ITIMER_REAL, _STOP_AGAIN_S, _STOP_AGAIN_S)
    raise KeyboardInterrupt


def _tell_faults(unraisable: Any) -> None:
    """Where Python cannot raise an interrupt it would print a traceback; the next one comes in a second."""
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)


def _stop_again(_signal: int, _frame: Any) -> None:
    """Interrupt, unless what is written is just being removed because of the first time."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return
        error = error.__context__
    raise KeyboardInterrupt


def _hang_up(number: int, frame: Any) -> None:
    """Stop; messages go nowhere if they went to the terminal, which is closed."""
    for descriptor in (sys.stdout.fileno(), sys.stderr.fileno()):
        if stat.S_ISCHR(os.fstat(descriptor).st_mode):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    _stop(number, frame)


if __name__ == "__main__":
    main()
