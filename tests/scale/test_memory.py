"""--memory: all at once where that is enough, else the largest blocks that fit, else what would be enough."""

import re
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.cli.main import main
from shoal.errors import MisuseError
from shoal.model.intake import Reading
from shoal.publishing.in_blocks import InBlocks
from shoal.publishing.planning import count, memory_bound_for
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.scale import blocks as memory
from shoal.scale.blocks import A_BLOCK, ALL_AT_ONCE, AROUND_BLOCKS, PEAKS, MemoryBound, Peak
from shoal.synthetic import write_synthetic
from shoal.units import MIB, show_bytes, size_bytes

GIB = 1024 * MIB


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 40, 2, 5)
    return path


def anonymized(city: Path, output: Path, *given: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", str(city), "--output", str(output), "--risk-tries", "0", "--quiet", *given])
    return int(str(ended.value.code))


@pytest.mark.parametrize(("workers", "bound_bytes"), [(1, 2 * GIB), (2, 3 * GIB), (7, 5 * GIB)])
def test_the_largest_blocks_that_fit_are_chosen(workers: int, bound_bytes: int) -> None:
    samples = np.random.default_rng(1).integers(1, 5000, 4000)
    bound = MemoryBound(total_bytes=bound_bytes, workers=workers, measured_people=1000)
    size = bound.people_in_a_block(samples, 2)
    heaviest = np.sort(samples)[::-1]
    around = PEAKS[AROUND_BLOCKS].of(4000, 0)
    around += PEAKS[ALL_AT_ONCE].sample_bytes * int(heaviest[:1000].sum())
    cost = [
        around + workers * PEAKS[A_BLOCK].of(people, int(heaviest[:people].sum()))
        for people in (size, size + 1)
    ]
    assert 4 <= size < 4000
    assert cost[0] <= bound_bytes < cost[1]


def test_what_would_be_enough_is_enough() -> None:
    samples = np.full(40_000, 300)

    def bound(size: str, workers: int) -> int:
        return MemoryBound(
            total_bytes=size_bytes(size), workers=workers, measured_people=1000
        ).people_in_a_block(samples, 2)

    with pytest.raises(MisuseError, match="40,000 people with 12,000,000 samples need memory") as told:
        bound("500MiB", 2)
    both, alone = re.findall(r"[0-9.]+[MG]iB", told.value.cli_message)[:2]
    assert bound(both, 2) >= 4
    assert bound(alone, 1) >= 4
    assert size_bytes(alone) < size_bytes(both)


def test_all_at_once_is_told_where_blocks_need_more(city: Path) -> None:
    with pytest.raises(MisuseError, match="40 people with ") as told:
        MemoryBound(total_bytes=GIB // 4, workers=2, measured_people=1000).people_in_a_block(
            shoal.read(city).lengths, 2
        )
    enough, given = re.findall(r"[0-9.]+[MG]iB", told.value.cli_message)
    bound = MemoryBound(total_bytes=size_bytes(enough), workers=2, measured_people=1000)
    assert memory_bound_for(count(city, Reading(), Run()), bound, None) is None
    assert size_bytes(given) == GIB // 4


def test_around_the_blocks_takes_no_more_for_more_samples() -> None:
    around = PEAKS[AROUND_BLOCKS]
    assert around.of(1000, 10**9) == around.of(1000, 10**7) > around.of(1000, 10**5)


def test_few_people_fit_all_at_once(city: Path) -> None:
    bound = MemoryBound(total_bytes=4 * GIB, workers=2, measured_people=1000)
    assert memory_bound_for(count(city, Reading(), Run()), bound, None) is None
    less = MemoryBound(total_bytes=400 * MIB, workers=2, measured_people=1000)
    assert memory_bound_for(count(city, Reading(), Run()), less, None) == less


def test_less_memory_makes_blocks_that_keep_the_claim(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        memory, "PEAKS", {**PEAKS, A_BLOCK: Peak(always_bytes=0, person_bytes=MIB, sample_bytes=0)}
    )
    around = PEAKS[AROUND_BLOCKS].of(40, shoal.read(city).n_samples)
    size = MemoryBound(total_bytes=around + 30 * MIB, workers=2, measured_people=1000)
    published = shoal.publish(
        InBlocks(source=city, reading=Reading(), size=size, engine=Run()),
        shoal.Glove(k=2),
        tmp_path / "release",
        rng=Randomness.for_research(1),
        tries=0,
    )
    assert published.block_sizes == (13, 13, 14)
    assert published.release.n_records == 40


def test_too_little_is_refused_with_what_is_needed(
    city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert anonymized(city, tmp_path / "release", "--memory", "300MiB", "--engine", "local:2") == 2
    assert "need --memory 481MiB at least with 2 workers; 300MiB is" in capsys.readouterr().err
    assert anonymized(city, tmp_path / "release", "--memory", "300MiB", "--exact-figures") == 2
    assert "--exact-figures needs everything at once, and 40 people" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--memory", "4"], "'4' is no size of memory; write for example 4GiB"),
        (["--memory", "-4GiB"], "is no size of memory"),
        (["--memory", "4GiB", "--blocks", "20"], "--memory works with --method glove, without --blocks"),
        (["--memory", "4GiB", "--engine", "dask"], "and with --engine local"),
        (["--memory", "4GiB", "--method", "static"], "--memory works with --method glove"),
    ],
)
def test_bounds_that_cannot_be_kept_are_refused(
    city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    assert anonymized(city, tmp_path / "release", *given) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_sizes_are_read_and_shown() -> None:
    assert [size_bytes(text) for text in ("4GiB", "0.5 gib", "500MB")] == [4 * GIB, GIB // 2, 500_000_000]
    assert [show_bytes(size) for size in (640 * MIB + 1, 1024 * MIB, 4 * GIB + 1)] == [
        "641MiB",
        "1GiB",
        "4.1GiB",
    ]


def test_the_page_says_the_figures_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    for name, peak in PEAKS.items():
        always, person, sample = peak.always_bytes // MIB, peak.person_bytes, peak.sample_bytes
        most = "" if peak.samples_at_once is None else f", of {peak.samples_at_once:,} at most"
        told = rf"^\| {name}.* \| {always} MiB \| {person:,} bytes \| {sample} bytes{most} \|$"
        assert re.search(told, page, re.MULTILINE), name
    assert len(PEAKS) == 4
    rows = re.findall(
        r"^\| ([0-9,]+) \| ([0-9.]+) GiB \| ([0-9.]+) GiB, ([0-9.]+) GiB \|$", page, re.MULTILINE
    )
    assert len(rows) >= 4
    for people, task, overhead, whole in rows:
        n = int(people.replace(",", ""))
        gib = PEAKS[A_BLOCK].of(n, 250 * n) / GIB
        assert (task, overhead, whole) == (f"{gib:.1f}", f"{4 * gib:.1f}", f"{4 * gib + 1:.1f}")
