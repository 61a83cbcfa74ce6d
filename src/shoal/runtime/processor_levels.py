"""Levels of processors: code for one runs on every processor that has all its features.

The x86-64 psABI defines them, LLVM knows them by the same names, and tells the features of this processor by
those below. What a wheel brings along is compiled for them (``runtime/kernel_cache.py``).
"""

from collections.abc import Iterator
from typing import Final

_V2: Final = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3: Final = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}

LEVELS: Final = {"x86-64-v3": _V3, "generic": frozenset[str]()}
"""Best first, with what each needs. Generic code runs on every processor of its architecture.

x86-64-v4, with AVX-512, is none of them: it made nothing faster.
"""


def levels_of(processor: tuple[str, str, str]) -> Iterator[tuple[str, str, str]]:
    """The levels whose code runs on this processor, best first.

    A processor is what numba's code generator says of it: the kind of system, a name, and features as
    "+avx2,-sse4a". So features that its settings switch off are missing here, too.
    """
    system, _, told = processor
    features = {one[1:] for one in told.split(",") if one.startswith("+")}
    for name, needed in LEVELS.items():
        if needed <= features:
            yield system, name, ""
