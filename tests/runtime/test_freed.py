"""What the allocators keep: how commands set glibc."""

import platform
import subprocess
import sys

import pytest

_GOES_BACK = """
import resource, sys
import numpy as np
from shoal.runtime.freed import keep_little

def resident_mib():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20

if sys.argv[1] == "little":
    keep_little()
first = np.ones(25 << 17)  # 25 MiB: once it is freed, glibc's own threshold is as high
del first
before = resident_mib()
arrays = [np.ones(20 << 17) for _ in range(5)]
small = [bytes(1000) for _ in range(100)]  # above them, still alive
del arrays[:]
print(resident_mib() - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="of glibc's allocator alone"
)
@pytest.mark.parametrize(("asked", "keeps"), [("little", False), ("nothing", True)])
def test_a_freed_array_goes_back_at_once_where_little_is_to_be_kept(asked: str, keeps: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _GOES_BACK, asked], check=True, capture_output=True, text=True
    )
    assert (float(told.stdout) > 50) is keeps
