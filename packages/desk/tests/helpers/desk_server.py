"""A desk as a process of its own, as somebody starts it: its address, its end, its beginning again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def desk_at(folder: Path) -> Iterator[str]:
    """The address, with its token, of a desk that runs for the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "desk", "--folder", str(folder), "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()
