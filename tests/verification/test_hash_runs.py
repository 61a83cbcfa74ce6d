"""The search for runs of characters of hashes, against what the library writes."""

import base64

import numpy as np
import pytest

from shoal.runtime.arrays import read_only
from shoal.verification.leaks import digests
from shoal.verification.leaks.digests import SPELLINGS, RunIndex, count_runs, mark_spelled_runs
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
            filled, hits = np.zeros(256, dtype=np.uint8), np.zeros(len(runs), dtype=np.bool_)
            fill_filter(runs, filled)
            assert mark_runs(read_only(raw), start, spelling.bits, 12, runs, filled, hits) == len(written)
            assert set(runs[hits].tolist()) == set(runs.tolist()) & set(written)
            assert len(raw) * count_runs(n - start, spelling.bits) == len(written)
            looked += len(written)
    assert looked > 500


@pytest.mark.parametrize("most_pieces", [0, 1 << 20], ids=["all rows", "rows with four bytes of a run"])
@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: str(spelling.bits))
def test_no_run_is_missed_where_only_some_rows_are_looked_at(
    spelling: digests.Spelling, most_pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run at a time is sought, so that its row is looked at for it alone: each is met, and counted."""
    monkeypatch.setattr(digests, "_MOST_PIECES", most_pieces)
    library = {4: base64.b16encode, 5: base64.b32encode, 6: base64.b64encode}[spelling.bits]
    raw = read_only(np.random.default_rng(2).integers(0, 256, (3, 21), dtype=np.uint8))
    written = [
        text[first : first + 12]
        for row in raw
        for start in range(spelling.starts)
        for text in [library(row[start:].tobytes()).decode().rstrip("=")]
        for first in range(len(text) - 11)
    ]
    assert written
    for text in (one.lower() if spelling.folded else one for one in written):
        number = sum(
            spelling.alphabet.index(item) << (spelling.bits * (11 - n)) for n, item in enumerate(text)
        )
        for run, is_met in ((number % 2**64, True), (number % 2**64 ^ 1 << 20, False)):
            sought = RunIndex.of(np.array([run], dtype=np.uint64), spelling.bits)
            hits = np.zeros(1, dtype=np.bool_)
            assert mark_spelled_runs(spelling, raw, sought, hits) == len(written)
            assert hits.tolist() == [is_met]


@pytest.mark.parametrize("first", range(28, 34))
def test_rows_without_four_bytes_of_a_run_are_left_out(first: int) -> None:
    """Of a thousand random rows, one holds a run that is sought; it alone is looked at closely."""
    raw = read_only(np.random.default_rng(3).integers(0, 256, (1000, 64), dtype=np.uint8))
    run = np.array([int(raw[700].tobytes().hex()[first : first + 12], 16)], dtype=np.uint64)
    assert RunIndex.of(run, 4).candidates_in(raw).tolist() == raw[700:701].tolist()
