"""The command line.

Exit 0: done and holds; 1: a claim does not hold; 2: bad input or usage; 3: parts of a claim were not
checked; 130: interrupted. Results go to standard output, progress and messages to standard error.
"""

import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import click

from shoal.cli import comparison as cli_comparison
from shoal.cli import data as cli_data
from shoal.cli import publish as cli_publish
from shoal.cli import release as cli_release
from shoal.cli import risk as cli_risk
from shoal.cli import series as cli_series
from shoal.cli import share as cli_share
from shoal.cli import verify as cli_verify
from shoal.cli.packages import Program
from shoal.cli.terminal import log_line, steady
from shoal.errors import ClaimError, ShoalError
from shoal.messages import program
from shoal.version import __version__

HOLDS, FAILS, BAD, INTERRUPTED = 0, 1, 2, 128 + signal.SIGINT

_NO_NUMBER: Final = re.compile("valid (integer|float)(?: range)?")  # in messages of click
_NUMBERS: Final = {"integer": "whole number", "float": "number"}

_ARROW_POOL: Final = ("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own keeps what it has freed

_OUT_OF_MEMORY: Final = "out of memory; use fewer people or a machine with more"
_DISK_FULL: Final = "the disk is full; free some space, and run the same command again"
_LIMITS: Final = {
    errno.ENOSPC: _DISK_FULL,  # such as of the file to which the result is sent
    errno.EDQUOT: _DISK_FULL,
    errno.ENAMETOOLONG: "a path is longer than this system allows; give a shorter one",
}

_HELP: Final = """Hide each traveler in the crowd: assess, anonymize and verify movement data.

Start with `shoal demo`, or with your own file:

\b
  shoal inspect calls.csv
  shoal assess calls.csv --output exposure.html
  shoal anonymize calls.csv --k 5 --output release --linkage linkage.parquet
  shoal verify calls.csv release --linkage linkage.parquet
"""


@click.group(
    cls=Program,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(__version__, prog_name="shoal")
def shoal() -> None:
    """The group of all commands; its help is _HELP, whose layout a docstring cannot keep."""


shoal.add_section("Try it", cli_data.demo, cli_data.synthesize)
shoal.add_section(
    "Before a release", cli_data.inspect, cli_data.assess, cli_comparison.advise, cli_comparison.compare
)
shoal.add_section(
    "The release", cli_release.anonymize, cli_verify.verify, cli_publish.publish, cli_series.series
)
shoal.add_section("Tables of counts and flows", "tabulate", "ledger")
shoal.add_section("Risk and utility", cli_risk.attack, cli_risk.measure)
shoal.add_section("Exchange with other tools", cli_verify.check, cli_publish.convert, cli_publish.schema)
shoal.add_section("In a browser", "desk", "record", "find")
shoal.add_section("Reproduce the papers", "reproduce", "granularity")
shoal.add_section("Share one track, collect from many", cli_share.share, "collect")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit; every error is one line on standard error."""
    os.environ.setdefault(*_ARROW_POOL)  # read when Arrow is loaded, which no command is before this
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--log=json" in words or ("--log", "json") in pairwise(words)
    try:
        code = shoal.main(
            args=None if arguments is None else list(arguments), prog_name="shoal", standalone_mode=False
        )
    except (KeyboardInterrupt, click.Abort) as stopped:
        signal.setitimer(signal.ITIMER_REAL, 0)
        reason = str(stopped.__cause__ or "")  # click wraps what interrupts it
        code = _complain(reason or "interrupted; nothing half-written is left", INTERRUPTED, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = BAD
    except click.ClickException as error:
        hint = (
            f" (try '{error.ctx.command_path.replace('shoal', program(), 1)} --help')"
            if isinstance(error, click.UsageError) and error.ctx
            else ""
        )
        told = _NO_NUMBER.sub(lambda kind: _NUMBERS[kind[1]], error.format_message())
        code = _complain(told.rstrip(".").replace("\n", " ") + hint, BAD, as_json=as_json)
    except ClaimError as error:
        code = _complain(error.cli_message, FAILS, as_json=as_json)
    except ShoalError as error:
        message = _OUT_OF_MEMORY if _ran_out_of_memory(error) else error.cli_message
        code = _complain(message, BAD, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = HOLDS
    except Exception as error:  # the last resort: the user gets a line, not a traceback
        if os.environ.get("SHOAL_TRACEBACK"):
            traceback.print_exc()
        fault = (
            f"unexpected {type(error).__name__}, a fault of shoal; run again with SHOAL_TRACEBACK=1 and "
            "report it"
        )
        reason = _LIMITS.get(error.errno or 0, fault) if isinstance(error, OSError) else fault
        code = _complain(_OUT_OF_MEMORY if _ran_out_of_memory(error) else reason, BAD, as_json=as_json)
    sys.exit(code if isinstance(code, int) else HOLDS)


def _ran_out_of_memory(error: BaseException | None) -> bool:
    """Also behind the message of a reader, for which a lack of memory is one of its library's errors."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__ or error.__context__
    return False


def _complain(message: str, code: int, *, as_json: bool) -> int:
    line = steady(message)
    if as_json:
        log_line("error", line, exit_code=code)
    else:
        click.echo(f"shoal: {line}", err=True)
    return code
