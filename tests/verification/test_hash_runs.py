"""The search for runs of characters of hashes, against what the library writes."""

import base64

import numpy as np
import pytest

from shoal.runtime.arrays import fixed
from shoal.verification.leaks import digests
from shoal.verification.leaks.digests import SPELLINGS
from shoal.verification.leaks.loops import fill_filter, mark_runs


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: str(spelling.bits))
def test_runs_are_those_of_bytes_as_the_library_writes_them(spelling: digests.Spelling) -> None:
    """Every run of 12 characters is looked at, those among the wanted ones are met, and no others."""
    library = {4: base64.b16encode, 5: base64.b32encode, 6: base64.b64encode}[spelling.bits]
    draw, looked = np.random.default_rng(1), 0
    for n in (5, 8, 16, 20, 31, 64):
        raw = draw.integers(0, 256, (3, n), dtype=np.uint8)
        for start in range(spelling.starts):
            texts = [library(row[start:].tobytes()).decode().rstrip("=") for row in raw]
            texts = [text.lower() if spelling.folded else text for text in texts]
            written = [
                sum(
                    spelling.alphabet.index(character) << (spelling.bits * (11 - place))
                    for place, character in enumerate(text[first : first + 12])
                )
                % 2**64
                for text in texts
                for first in range(len(text) - 11)
            ]
            others = draw.integers(0, 2 ** min(63, 12 * spelling.bits), 500, dtype=np.uint64)
            runs = np.unique(np.array([*written[::2], *others.tolist()], dtype=np.uint64))
            filled, met = np.zeros(256, dtype=np.uint8), np.zeros(len(runs), dtype=np.bool_)
            fill_filter(runs, filled)
            assert mark_runs(fixed(raw), start, spelling.bits, 12, runs, filled, met) == len(written)
            assert set(runs[met].tolist()) == set(runs.tolist()) & set(written)
            looked += len(written)
    assert looked > 500
