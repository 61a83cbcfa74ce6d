"""What the allocators keep: how commands set glibc."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

_GOES_BACK = """
import resource, sys
import numpy as np
from shoal.runtime.memory import limit_idle_memory

def resident_mib():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20

if sys.argv[1] == "little":
    limit_idle_memory()
first = np.ones(25 << 17)  # 25 MiB: once it is freed, glibc's own threshold is as high
del first
before = resident_mib()
arrays = [np.ones(20 << 17) for _ in range(5)]
small = [bytes(1000) for _ in range(3_000)]  # above them, still alive
del arrays[:]
print(resident_mib() - before)
"""


_SERVES_OTHERS = """
import resource, sys, threading
import numpy as np
from shoal.runtime.memory import limit_idle_memory

def resident_mib():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20

if sys.argv[1] == "little":
    limit_idle_memory()
first = np.ones(25 << 17)
del first
small = []

def work():
    arrays = [np.ones(6 << 17) for _ in range(8)]  # 6 MiB each
    small.extend(bytes(1000) for _ in range(3_000))  # above them, still alive

one = threading.Thread(target=work)
one.start()
one.join()
before = resident_mib()
arrays = [np.ones(6 << 17) for _ in range(8)]
print(resident_mib() - before)
"""
_POOL_OF_A_COMMAND = """
import sys
from shoal.cli.main import main

try:
    main(["synthesize", sys.argv[1], "--subjects", "2", "--days", "1"])
except SystemExit:
    import pyarrow
    print(pyarrow.default_memory_pool().backend_name)
"""
POOL = "ARROW_DEFAULT_MEMORY_POOL"
_OF_GLIBC = pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="of glibc's allocator alone"
)


@_OF_GLIBC
@pytest.mark.parametrize(("asked", "keeps"), [("little", False), ("nothing", True)])
def test_a_freed_array_goes_back_at_once_where_little_is_to_be_kept(asked: str, keeps: bool) -> None:
    assert (_told(_GOES_BACK, asked) > 50) is keeps


@_OF_GLIBC
@pytest.mark.parametrize(("asked", "grows"), [("little", False), ("nothing", True)])
def test_what_a_thread_has_freed_serves_others_where_little_is_to_be_kept(asked: str, grows: bool) -> None:
    assert (_told(_SERVES_OTHERS, asked) > 24) is grows


@pytest.mark.parametrize(("chosen", "used"), [({}, "system"), ({POOL: "mimalloc"}, "mimalloc")])
def test_arrow_allocates_as_the_system_does_in_commands_unless_told_otherwise(
    chosen: dict[str, str], used: str, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != POOL} | chosen
    words = [sys.executable, "-c", _POOL_OF_A_COMMAND, str(tmp_path / "people.parquet")]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.split()[-1] == used


def _told(script: str, asked: str) -> float:
    told = subprocess.run([sys.executable, "-c", script, asked], check=True, capture_output=True, text=True)
    return float(told.stdout)
