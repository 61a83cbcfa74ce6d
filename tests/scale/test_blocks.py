"""Blocks: who goes where, and releases made in them: hostile populations, interruptions, full disks."""

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from elsewhere import Elsewhere
from shoal.errors import InputError, MisuseError, NothingLeftError, OtherJobError, OutputError
from shoal.io.disk.storing import store_people
from shoal.measures.k_gap import k_gaps, sample_people
from shoal.methods.glove.glove import Glove
from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms
from shoal.model.people_on_disk import PEOPLE_FILE
from shoal.model.trajectories import Trajectories
from shoal.publishing import block_facts, block_records
from shoal.publishing import in_blocks as publishing
from shoal.publishing.block_input import BlockInput
from shoal.publishing.block_records import records_at
from shoal.publishing.in_blocks import InBlocks
from shoal.publishing.publish import Publication
from shoal.report.facts.ground import NO_GROUND, MapGround
from shoal.report.words.numbers import exact
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run
from shoal.scale import blocks as scale_blocks
from shoal.scale.blocks import name_of, split_into_blocks
from shoal.synthetic import write_synthetic
from shoal.units import rounded_up
from shoal.utility import Facts
from shoal.utility.vanished import vanished_of
from shoal.verification import checks
from shoal.verification.files import streamed
from shoal.verification.leaks import digests, raw_identifiers
from shoal.verification.leaks.digests import search_hashes

LOCAL = Reading(crs="local", time_unit="1min", not_after_s=4e9)


def in_blocks(
    source: Path,
    output: Path,
    size: int,
    *,
    method: Glove | None = None,
    reading: Reading | None = None,
    seed: int = 5,
    run: Run | None = None,
    tries: int = 0,
    engine: Engine | None = None,
    ground: MapGround = NO_GROUND,
) -> Publication:
    people = InBlocks(source=source, reading=reading or Reading(), size=size, engine=engine or Run())
    return shoal.publish(
        people,
        method or Glove(k=2),
        output,
        rng=Randomness.for_research(seed),
        run=run,
        linkage_file=output.with_suffix(".linkage"),
        tries=tries,
        options=shoal.PublishOptions(ground=ground),
    )


def written(path: Path, rows: Sequence[tuple[str, Any, Any, Any]]) -> Path:
    """A file of people: id, steps of a minute, x and y in meters."""
    ids = [name for name, t, _, _ in rows for _ in t]
    columns = [
        np.concatenate([np.asarray(row[place], dtype=np.float64) for row in rows]) for place in (1, 2, 3)
    ]
    pq.write_table(
        pa.table({"uid": ids, "t": columns[0].astype(np.int64), "x": columns[1], "y": columns[2]}), path
    )
    return path


def assert_holds(source: Path, published: Publication, reading: Reading | None = None) -> None:
    original: Trajectories = shoal.io.read_with(source, reading or published.release.reading, Run())
    verdict = shoal.verify_folder(
        original, published.folder, shoal.read_linkage(published.folder.with_suffix(".linkage"))
    )
    assert verdict.holds, verdict.findings
    assert published.manifest.verdict["checked"] == published.release.n_records
    assert not published.folder.with_name(f"{published.folder.name}.parts").exists()


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 120, 2, 5)
    return path


@pytest.fixture(scope="module")
def whole(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The release of the city in blocks of a size, which nothing stopped, made once."""

    @cache
    def made(size: int) -> Path:
        output = tmp_path_factory.mktemp("whole") / "whole"
        return in_blocks(city, output, size).folder

    return made


@given(
    st.lists(st.tuples(*[st.integers(-5, 5)] * 3), min_size=4, max_size=200),
    st.integers(2, 5),
    st.integers(0, 60),
)
def test_everybody_is_in_one_block_of_almost_equal_size(
    median_samples: list[tuple[int, int, int]], k: int, more: int
) -> None:
    size = 2 * k + more
    assume(len(median_samples) >= k)
    blocks = split_into_blocks(np.array(median_samples), (480, 200, 200), size, k)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(median_samples)))
    sizes = [len(block) for block in blocks]
    assert len(blocks) == -(-len(median_samples) // size)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= size
    assert min(sizes) >= min(k, len(median_samples))
    assert all((np.diff(block) > 0).all() for block in blocks)


def test_blocks_follow_place_and_time() -> None:
    """Four towns, or four weeks, far apart: each becomes a block."""
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(4), 25))
    mixed = []
    for axis in range(3):
        median_samples = rng.integers(0, 50, (100, 3))
        median_samples[:, axis] += 100_000 * group
        blocks = split_into_blocks(median_samples, (480, 200, 200), 25, 2)
        mixed.append([np.unique(group[block]).size for block in blocks])
    assert mixed == [[1] * 4] * 3


def test_sizes_that_cannot_hide_anybody_are_refused(city: Path, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="make them of 10 people at least"):
        in_blocks(city, tmp_path / "release", 9, method=Glove(k=5))
    with pytest.raises(MisuseError, match="needs at least 300 people, and the data has 120"):
        in_blocks(city, tmp_path / "other", 1000, method=Glove(k=300))
    assert not list(tmp_path.iterdir())  # the next attempt, with other settings, finds nothing of this one


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (shoal.StaticGeneralization(k=2), shoal.PublishOptions()),
        (Glove(k=2), shoal.PublishOptions(exact_figures=True)),
        (Glove(k=2), shoal.PublishOptions(private_report="private.html")),
    ],
)
def test_what_needs_everyone_at_once_is_refused_in_blocks(
    method: shoal.Method, options: shoal.PublishOptions, city: Path, tmp_path: Path
) -> None:
    people, rng = InBlocks(source=city, reading=Reading(), size=20, engine=Run()), Randomness.for_research(1)
    with pytest.raises(MisuseError, match=r"work in blocks needs shoal\.Glove, no private report"):
        shoal.publish(people, method, tmp_path / "release", rng=rng, options=options)
    assert list(tmp_path.iterdir()) == []


def test_one_block_is_the_release_in_memory_byte_for_byte(city: Path, tmp_path: Path) -> None:
    published = in_blocks(city, tmp_path / "one", 120)
    shoal.publish(
        shoal.read(city),
        Glove(k=2),
        tmp_path / "memory",
        rng=Randomness.for_research(5),
        linkage_file=tmp_path / "memory.linkage",
    )
    assert published.block_sizes == (120,)
    for name in ("one/release.parquet", "one.linkage"):
        assert (tmp_path / name).read_bytes() == (tmp_path / name.replace("one", "memory")).read_bytes(), name
    told = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("one", "memory")]
    pages = {manifest.pop("report_sha256") for manifest in told}
    assert len(pages) == 2  # only the record in memory has attacks and measurements
    assert told[0] == told[1]


@pytest.mark.parametrize("k", [2, 5])
def test_many_blocks_keep_the_claim(
    city: Path, tmp_path: Path, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_records, "_BOXES_AT_ONCE", 300)  # records are written in several parts
    monkeypatch.setattr(streamed, "_PART_ROWS", 400)
    monkeypatch.setattr(streamed, "_BUCKET_ROWS", 900)
    published = in_blocks(city, tmp_path / "release", 25, method=Glove(k=k), engine=Elsewhere())
    assert pq.ParquetFile(tmp_path / "release" / "release.parquet").metadata.num_row_groups >= 3
    in_blocks(city, tmp_path / "here", 25, method=Glove(k=k))
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "release" / name).read_bytes()
    assert published.block_sizes == (24,) * 5
    assert_holds(city, published)
    report = (tmp_path / "release" / "report.html").read_text()
    assert "The claim holds" in report


def test_the_record_measures_a_stated_sample_of_whole_crowds(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_facts, "SAMPLE_PEOPLE", 40)
    drawn: list[Facts] = []
    draw = block_facts.draw_crowds

    def noted(*given: Any) -> Facts:
        drawn.append(draw(*given))
        return drawn[-1]

    def vanished(*given: Any) -> Any:
        found.append(look(*given))
        return found[-1]

    look, found = block_facts.lost_samples_on_disk, list[Any]()
    monkeypatch.setattr(publishing, "draw_crowds", noted)
    monkeypatch.setattr(publishing, "lost_samples_on_disk", vanished)
    method = Glove(k=3, suppress_space_m=20_000)
    published = in_blocks(city, tmp_path / "release", 25, method=method, tries=20)
    (sample,) = drawn
    assert 40 <= sample.release.n_records < 45
    assert shoal.verify(sample.original, sample.release, sample.linkage).kinds == {"lost-samples-not-counted"}
    report = (tmp_path / "release" / "report.html").read_text()
    assert "Not measured: no attack" not in report
    assert "Not measured but for" not in report
    told = report.partition('id="sampled-risk"')[2].partition("</p>")[0]
    assert re.findall(r">([0-9]+)<", told) == [
        str(sample.release.n_records),
        str(published.manifest.n_records),
    ]
    assert 'id="sampled-use"' in report
    release, linkage = (
        shoal.read_release(tmp_path / "release"),
        shoal.read_linkage(tmp_path / "release.linkage"),
    )
    whole = vanished_of(Facts(shoal.read(city), release, linkage))
    assert whole is not None
    assert whole.by_hour.lost.sum() > 0
    assert len(found) == 1
    for name in ("samples", "lost", "people", "losers"):
        for mine, theirs in ((found[0].by_zone, whole.by_zone), (found[0].by_hour, whole.by_hour)):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
    assert np.array_equal(found[0].zones.x_m, whole.zones.x_m)
    assert np.array_equal(found[0].zones.y_m, whole.zones.y_m)
    assert {"plot-vanished-place", "plot-vanished-hour"} <= set(re.findall(r'id="(plot-[^"]*)"', report))


def test_the_k_gap_in_blocks_is_that_among_all_people(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = shoal.read(city)
    stored = store_people(city, Reading(), tmp_path / "people", Run())
    everybody = block_facts.k_gaps_on_disk(stored, 2, 25, tmp_path, Run(), Run())
    monkeypatch.setattr(block_facts, "_LEAST", 25)
    drawn = block_facts.k_gaps_on_disk(stored, 2, 25, tmp_path, Run(), Run())
    assert [(gap.k, len(gap.gap)) for gap in (*everybody, *drawn)] == [(2, 120), (5, 120), (2, 5), (5, 5)]
    for found in (*everybody, *drawn):
        (same,) = k_gaps(original, [found.k], subjects=found.subjects)
        for name in ("gap", "space", "time", "tail_weight"):
            assert np.array_equal(getattr(found, name), getattr(same, name), equal_nan=True)
    in_blocks(city, tmp_path / "release", 25)
    page = (tmp_path / "release" / "report.html").read_text()
    assert "drawn at random from all" in page
    median = re.search(r'id="fact-gap-median-2" value="([^"]*)"', page)
    people = sample_people(original.n_subjects, 25 // 5)
    assert median is not None
    assert median[1] == exact(float(np.median(k_gaps(original, [2], subjects=people)[0].gap)))


def test_the_facts_of_the_report_are_those_of_the_whole_release(city: Path, tmp_path: Path) -> None:
    published = in_blocks(city, tmp_path / "release", 25)
    original, linkage = shoal.read(city), shoal.read_linkage(tmp_path / "release.linkage")
    release = shoal.read_release(tmp_path / "release")
    from shoal.utility.accuracy import measure_accuracy

    whole = measure_accuracy(original, release, linkage)
    assert published.accuracy is not None
    for mine, theirs in (
        (published.accuracy.raw, whole.raw),
        (published.accuracy.published, whole.published),
    ):
        for name in ("space_cells", "time_slots", "count"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))
    assert published.accuracy.samples_suppressed == whole.samples_suppressed
    assert published.manifest.losses.samples_suppressed == rounded_up(whole.samples_suppressed)
    assert (published.manifest.n_records, published.manifest.n_samples) == (
        release.n_records,
        release.n_samples,
    )


def test_the_order_of_records_does_not_show_the_blocks(city: Path, tmp_path: Path) -> None:
    """In a release ordered by block, neighbors in the file would share it nearly always.

    In a random order, one time in four here.
    """
    published = in_blocks(city, tmp_path / "release", 30, seed=11)
    people = shoal.read(city)
    block_of = np.empty(120, dtype=np.int64)
    from shoal.kernels.people import median_samples

    for number, block in enumerate(
        split_into_blocks(
            median_samples(people.offsets, people.t, people.x, people.y), (480, 200, 200), 30, 2
        )
    ):
        block_of[block] = number
    linkage = shoal.read_linkage(tmp_path / "release.linkage")
    subject = {
        name: people.ids.index(uid) for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)
    }
    order = block_of[[subject[name] for name in shoal.read_release(published.folder).trajectory_ids]]
    assert 0.1 < np.mean(order[1:] == order[:-1]) < 0.45


def long_beside_short(path: Path) -> Path:
    """Two people with 100,000 samples beside forty with one."""
    rng = np.random.default_rng(2)
    long = [
        (f"long{i}", np.arange(100_000), rng.integers(0, 40, 100_000) * 300, np.full(100_000, 50))
        for i in range(2)
    ]
    short = [
        (f"short{i}", rng.integers(0, 100_000, 1), rng.integers(0, 40, 1) * 300, [50]) for i in range(40)
    ]
    return written(path, [*long, *short])


def identical(path: Path) -> Path:
    own = np.arange(6)
    return written(path, [(f"p{i:03d}", own * 700, own % 3 * 4000, own % 2 * 5000) for i in range(50)])


@pytest.mark.parametrize("make", [long_beside_short, identical])
def test_hostile_populations_keep_the_claim(make: Callable[[Path], Path], tmp_path: Path) -> None:
    source = make(tmp_path / "people.parquet")
    published = in_blocks(source, tmp_path / "release", 12, method=Glove(k=3), reading=LOCAL)
    assert len(published.block_sizes) >= 4
    assert published.release.n_records == sum(published.block_sizes)
    assert_holds(source, published, LOCAL)


def test_everybody_at_one_station(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    times = [np.unique(rng.integers(0, 2000, rng.integers(1, 9))) for _ in range(50)]
    source = written(
        tmp_path / "people.parquet",
        [(f"p{i:03d}", t, np.full(len(t), 70), np.full(len(t), 70)) for i, t in enumerate(times)],
    )
    assert_holds(source, in_blocks(source, tmp_path / "release", 12, reading=LOCAL), LOCAL)


def test_hulls_that_are_drawn_are_the_same_again_in_research(city: Path, tmp_path: Path) -> None:
    """Whoever works on the blocks, and in whatever order; with another seed they are others."""
    method, written = Glove(k=2, hull="outward:5"), []
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        in_blocks(city, tmp_path / name, 40, method=method, seed=seed, engine=Elsewhere())
        table = pq.read_table(tmp_path / name / "release.parquet")
        written.append([sorted(table[column].to_pylist()) for column in ("x_min", "y_max")])
    assert (written[0] == written[1], written[0] == written[2]) == (True, False)
    assert (tmp_path / "one" / "release.parquet").read_bytes() == (
        tmp_path / "two" / "release.parquet"
    ).read_bytes()


def test_a_block_that_keeps_nobody_is_counted_and_the_others_are_published(tmp_path: Path) -> None:
    """People of one town are together.

    Those of the other never are, and their boxes are all too wide to keep.
    """
    own = np.arange(6) * 700
    near = [(f"near{i}", own, np.full(6, 50), np.full(6, 50)) for i in range(10)]
    far = [(f"far{i}", [9000 + 5000 * i], [500_000 + 50_000 * i], [50]) for i in range(10)]
    source = written(tmp_path / "people.parquet", [*near, *far])
    published = in_blocks(
        source, tmp_path / "release", 10, reading=LOCAL, method=Glove(k=2, suppress_space_m=5000)
    )
    assert published.manifest.losses.subjects_suppressed == 10
    assert published.manifest.losses.samples_suppressed == 10
    assert_holds(source, published, LOCAL)
    with pytest.raises(NothingLeftError, match="relax the suppression"):
        in_blocks(
            written(tmp_path / "far.parquet", far),
            tmp_path / "other",
            10,
            reading=LOCAL,
            method=Glove(k=2, suppress_space_m=5000),
        )


KILLED = """
import sys
from pathlib import Path
from typing import Any
sys.path[:0] = sys.argv[3:]
from test_blocks import in_blocks
print("ready", flush=True)
in_blocks(Path(sys.argv[1]), Path(sys.argv[2]), 8)
"""


def test_killed_at_any_moment_the_same_call_ends_with_the_same_bytes(
    city: Path, tmp_path: Path, whole: Callable[[int], Path]
) -> None:
    here = Path(__file__).parent
    output, rng, kills = tmp_path / "release", np.random.default_rng(1), 0
    while not output.exists() and kills < 2:
        with subprocess.Popen(
            [
                sys.executable,
                "-c",
                KILLED,
                str(city),
                str(output),
                *map(str, (here, here.parent / "helpers")),
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            wanted = len(list((tmp_path / "release.parts").glob("block-*.npz"))) + 2
            until = time.monotonic() + 120
            while worker.poll() is None and time.monotonic() < until:
                if len(list((tmp_path / "release.parts").glob("block-*.npz"))) >= wanted:
                    break
                time.sleep(0.005)
            time.sleep(float(rng.uniform(0, 0.05)))
            worker.send_signal(signal.SIGKILL)
            kills += 1
    (tmp_path / ".release.partial-0123").mkdir(exist_ok=True)  # as a kill while writing leaves it
    finished = len(list((tmp_path / "release.parts").glob("block-*.npz")))
    assert output.exists() or finished >= 2
    if not output.exists():
        in_blocks(city, output, 8)
        assert not list(tmp_path.glob(".*"))
    for name in ("release.parquet", "manifest.json"):
        assert (output / name).read_bytes() == (whole(8) / name).read_bytes()
    linkage = whole(8).with_suffix(".linkage")
    assert (tmp_path / "release.linkage").read_bytes() == linkage.read_bytes()


def test_finished_blocks_are_not_made_again(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = scale_blocks.anonymize_block

    def counted(task: scale_blocks.BlockTask, run: Run) -> object:
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(task.block)
        return make(task, run)

    class OneByOne:
        def map(self, fn, parts):  # type: ignore[no-untyped-def]
            return map(fn, parts)

    def attempt() -> Publication:
        rng = Randomness.for_research(1)
        people = InBlocks(source=city, reading=Reading(), size=20, engine=OneByOne())
        return shoal.publish(people, Glove(k=2), tmp_path / "release", rng=rng)

    monkeypatch.setattr(scale_blocks, "anonymize_block", counted)
    with pytest.raises(KeyboardInterrupt):
        attempt()
    assert stat_of(tmp_path / "release.parts") == 0o700
    with pytest.raises(InputError, match="other data, parameters or version"):
        in_blocks(city, tmp_path / "release", 20, method=Glove(k=3))
    made[:] = made[:0]
    attempt()
    assert made == [3, 4, 5]


def stat_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("place", ["spill", "block", "release"])
def test_a_full_disk_loses_nothing_that_is_finished(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        if place == "spill":
            patched.setattr("shoal.io.disk.spilling.write_all", full)
        elif place == "block":
            patched.setattr("shoal.runtime.checkpoint.np.savez", full)
        else:
            patched.setattr(block_records, "write_some_boxes", full)
        with pytest.raises(OutputError, match="the disk is full; free some space"):
            in_blocks(city, tmp_path / "release", 40)
    assert not (tmp_path / "release").exists()
    assert not list(tmp_path.glob(".*"))
    published = in_blocks(city, tmp_path / "release", 40)
    assert_holds(city, published)


def test_files_that_may_not_grow_lose_nothing_that_is_finished(
    city: Path, tmp_path: Path, whole: Callable[[int], Path], shoal: Shoal
) -> None:
    """As on a full disk, by a limit of the system's own; what was not stopped has the same bytes."""
    table, stops = (whole(40) / "release.parquet").stat().st_size, []
    words = [
        *(sys.executable, "-m", "shoal", "anonymize", str(city), "--k", "2", "--blocks", "40"),
        *("--research-seed", "1", "--risk-tries", "5", "--quiet", "--engine", "threads"),
        *("--output", str(tmp_path / "release"), "--linkage", str(tmp_path / "release.linkage")),
    ]
    for most in (1 << 12, table // 2, table - 1):

        def limited(most: int = most) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        # without writing bytecode, which the limit would cut short, beside the code, for all who come later
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            words, env=environment, preexec_fn=limited, capture_output=True, text=True, check=False
        )
        stops.append(done.stderr.splitlines()[-1])
        assert done.returncode == 2
        assert stops[-1].startswith("shoal: cannot write "), stops
        assert stops[-1].endswith(": File too large")
        assert not (tmp_path / "release").exists()
        assert not list(tmp_path.glob(".*"))
    assert shoal(*words[3:]).code == 0
    words[words.index(str(tmp_path / "release"))] = str(tmp_path / "again")
    words[words.index(str(tmp_path / "release.linkage"))] = str(tmp_path / "again.linkage")
    assert shoal(*words[3:]).code == 0
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (tmp_path / "release" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert (tmp_path / "release.linkage").read_bytes() == (tmp_path / "again.linkage").read_bytes()


def test_a_long_block_says_how_far_it_is(city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []
    make = scale_blocks.anonymize_block

    def slow(task: scale_blocks.BlockTask, run: Run) -> object:
        run.progress("merging", 3, 7)
        time.sleep(0.1)
        return make(task, run)

    monkeypatch.setattr(scale_blocks, "anonymize_block", slow)
    monkeypatch.setattr(publishing, "_LOOKS_EVERY_S", 0.01)
    run = Run(threads=1, progress=lambda *report: told.append(report))
    in_blocks(city, tmp_path / "release", 20, run=run)
    assert ("in a block: merging", 3, 7) in told


def blocks_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the blocks that are made from now on, as they are."""
    made: list[int] = []
    make = scale_blocks.anonymize_block

    def counted(task: scale_blocks.BlockTask, run: Run) -> object:
        made.append(task.block)
        return make(task, run)

    monkeypatch.setattr(scale_blocks, "anonymize_block", counted)
    return made


def stopped_after_reading(
    source: Path, output: Path, monkeypatch: pytest.MonkeyPatch, reading: Reading | None = None
) -> None:
    """A publication that was stopped when its people were read and two of its blocks were finished."""
    make, made = scale_blocks.anonymize_block, []

    def stopping(task: scale_blocks.BlockTask, run: Run) -> object:
        made.append(task)
        if len(made) > 2:
            raise KeyboardInterrupt
        return make(task, run)

    with monkeypatch.context() as patched:
        patched.setattr(scale_blocks, "anonymize_block", stopping)
        with pytest.raises(KeyboardInterrupt):
            in_blocks(source, output, 20, reading=reading)
    assert len(list((output.with_name(f"{output.name}.parts")).glob("block-*.npz"))) == 2


def test_a_finished_block_that_is_damaged_is_made_again(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Callable[[int], Path]
) -> None:
    stopped_after_reading(city, tmp_path / "release", monkeypatch)
    boxes = tmp_path / "release.parts" / "block-000001.bin"
    boxes.write_bytes(bytes([boxes.read_bytes()[0] ^ 1]) + boxes.read_bytes()[1:])
    in_blocks(city, tmp_path / "release", 20)
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (tmp_path / "release" / name).read_bytes() == (whole(20) / name).read_bytes()


@pytest.mark.parametrize("name", ["people/samples.bin", "people/people.parquet", "people/sums.json"])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_people_on_disk_that_are_damaged_are_read_again(
    city: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: Callable[[int], Path],
    name: str,
    place: float,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            publishing, "_anonymize_unfinished", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            in_blocks(city, tmp_path / "release", 60)
    file = tmp_path / "release.parts" / name
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 4
    file.write_bytes(content)
    in_blocks(city, tmp_path / "release", 60)
    for name in ("release.parquet", "manifest.json", "report.html"):
        assert (tmp_path / "release" / name).read_bytes() == (whole(60) / name).read_bytes()


def test_blocks_of_people_who_are_not_there_are_made_again(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_after_reading(city, tmp_path / "release", monkeypatch)
    (tmp_path / "release.parts" / "people" / PEOPLE_FILE).unlink()
    made = blocks_made(monkeypatch)
    in_blocks(city, tmp_path / "release", 20)
    assert sorted(made) == list(range(6))


def test_boxes_that_are_cut_short_meanwhile_are_an_error(tmp_path: Path) -> None:
    kept, rows = Checkpoint.open(tmp_path / "job", {}), np.arange(18).reshape(3, 6)
    kept.load_or_make(name_of(0), lambda: {"boxes": rows}, apart="boxes")
    kept.rows_path(name_of(0)).write_bytes(rows.tobytes()[:-1])
    header: Any = None  # of a release, which is not asked for
    zero, all_rows = np.zeros(1, dtype=np.int64), np.array([3])
    with pytest.raises(InputError, match=r"block-000000.bin is cut short; run the same command again"):
        records_at(header, ["r"], tmp_path / "job", zero, zero, all_rows)


def with_old_times(path: Path, change: Callable[[], object]) -> None:
    before = path.stat()
    change()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_content_exchanged_under_its_old_size_and_time_is_seen(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "calls.parquet", tmp_path / "release"
    source.write_bytes(city.read_bytes())
    stopped_after_reading(source, output, monkeypatch)
    changed = bytearray(source.read_bytes())
    changed[len(changed) // 3] ^= 1
    with_old_times(source, lambda: source.write_bytes(bytes(changed)))
    with pytest.raises(OtherJobError, match=r"calls.parquet is not what it was when .* was begun"):
        in_blocks(source, output, 20)
    assert len(list((tmp_path / "release.parts").glob("block-*.npz"))) == 2  # nothing is lost
    with_old_times(source, lambda: source.write_bytes(city.read_bytes()))
    in_blocks(source, output, 20)


def test_other_positions_of_the_cells_are_other_data(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People who were read with a table of cells are not those whom another one gives."""
    table = pq.read_table(city)
    cells = [f"c{n % 40}" for n in range(len(table))]
    calls = pa.table({"uid": table["uid"], "t": table["t"], "cell_id": cells})
    pq.write_table(calls, tmp_path / "calls.parquet")
    rows = [f"c{n},{48 + n / 1000},{2 + n / 1000}" for n in range(40)]
    (tmp_path / "cells.csv").write_text("\n".join(["cell_id,lat,lon", *rows]) + "\n")
    reading = Reading(cells=str(tmp_path / "cells.csv"))
    source, output = tmp_path / "calls.parquet", tmp_path / "release"
    stopped_after_reading(source, output, monkeypatch, reading)
    moved = (tmp_path / "cells.csv").read_text().replace("48.", "47.")
    with_old_times(tmp_path / "cells.csv", lambda: (tmp_path / "cells.csv").write_text(moved))
    with pytest.raises(OtherJobError, match=r"cells.csv is not what it was when .* was begun"):
        in_blocks(source, output, 20, reading=reading)
    (tmp_path / "cells.csv").write_text(moved + "c99,47,2\n")
    with pytest.raises(OtherJobError, match="other data, parameters or version"):
        in_blocks(source, output, 20, reading=reading)


def test_what_is_finished_outlasts_an_input_and_a_ground_that_cannot_be_used(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may not answer, or the map get streets of another place: neither is asked for any block."""
    output = tmp_path / "release"
    stopped_after_reading(city, output, monkeypatch)

    def finished() -> list[str]:
        return sorted(path.name for path in (tmp_path / "release.parts").glob("block-*.npz"))

    before = finished()

    def gone(_: object) -> None:
        raise InputError("the object store cannot be read")

    with monkeypatch.context() as patched:
        patched.setattr(BlockInput, "require_unchanged", gone)
        with pytest.raises(InputError, match="the object store cannot be read"):
            in_blocks(city, output, 20)
    assert finished() == before
    with monkeypatch.context() as patched:
        patched.setattr(MapGround, "require_over", lambda *_: gone(None))
        with pytest.raises(InputError, match="the object store cannot be read"):
            in_blocks(city, output, 20, ground=MapGround())
    assert finished() == before
    in_blocks(city, output, 20)


def test_the_same_content_elsewhere_continues(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy, with another owner's rights, at another place: no sign is as before but the content."""
    first, second, output = tmp_path / "one", tmp_path / "two", tmp_path / "release"
    for folder in (first, second):
        folder.mkdir()
        (folder / "calls.parquet").write_bytes(city.read_bytes())
    was = (first / "calls.parquet").stat()
    os.utime(second / "calls.parquet", ns=(was.st_atime_ns, was.st_mtime_ns))
    (second / "calls.parquet").chmod(0o600)
    stopped_after_reading(first, output, monkeypatch)
    blocks = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "release.parts").glob("block-*.npz")}
    made = blocks_made(monkeypatch)
    in_blocks(second, output, 20)
    assert made
    assert not {f"block-{block:06d}.npz" for block in made} & blocks.keys()  # those are finished


def test_an_input_that_changes_while_it_is_read_is_refused(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "calls.parquet", tmp_path / "release"
    source.write_bytes(city.read_bytes())
    store = store_people

    def meanwhile(*given: Any, **named: Any) -> Any:
        people = store(*given, **named)
        with_old_times(source, lambda: source.write_bytes(city.read_bytes()))
        return people

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "store_people", meanwhile)
        with pytest.raises(InputError, match=r"calls.parquet changed while it was read"):
            in_blocks(source, output, 20)
    assert not (tmp_path / "release.parts").exists()
    in_blocks(source, output, 20)


def test_what_names_and_hashes_have_in_common_by_chance_is_noted_in_the_manifest_as_in_the_check(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million people some always have; here one is made to, and chance is said to explain it."""
    drawn = Randomness.pseudonym_numbers
    piece = hashlib.sha256(shoal.read(city).ids[0].encode()).hexdigest()[20:32]

    def with_piece(self: Randomness, n: int) -> np.ndarray:
        numbers = drawn(self, n)
        numbers[0] = int(f"beef{piece}", 16)
        return numbers

    monkeypatch.setattr(Randomness, "pseudonym_numbers", with_piece)
    monkeypatch.setattr(digests, "_longer_than_chance", lambda lengths, *_: int(lengths.max()) + 1)
    monkeypatch.setattr(checks, "derived_names", lambda *_: ())  # the person may get this name by lot
    sought: list[int] = []

    def search(hashes: digests.Digests, names: Pseudonyms) -> digests.HashSearch:
        sought.append(len(names))
        return search_hashes(hashes, names)

    monkeypatch.setattr(raw_identifiers, "search_hashes", search)
    published = in_blocks(city, tmp_path / "release", 40)
    assert_holds(city, published)
    (note,) = published.manifest.verdict["notes"]
    assert note.startswith("1 pseudonym has 12 characters or more in common")
    whole = published.release.n_records
    assert sought.count(whole) == 2  # once for the release, and once in the folder that is verified above


def test_secrets_in_the_folder_of_parts_would_be_removed_with_it(city: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="would be removed with the finished parts"):
        shoal.publish(
            InBlocks(source=city, reading=Reading(), size=40, engine=Run()),
            Glove(k=2),
            tmp_path / "release",
            rng=Randomness.for_research(1),
            linkage_file=tmp_path / "release.parts" / "links.parquet",
        )
    assert list(tmp_path.iterdir()) == []


def test_parts_that_cannot_be_removed_are_told_of(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, remove = tmp_path / "release.parts", shutil.rmtree

    def held(path: Path, *given: Any, **named: Any) -> None:
        if Path(path) != parts.resolve():
            remove(path, *given, **named)

    monkeypatch.setattr(shutil, "rmtree", held)
    words = ("anonymize", city, "--k", 2, "--output", tmp_path / "release", "--risk-tries", 0)
    outcome = Shoal(capsys)(*words, "--blocks", 40, "--engine", "threads", "--quiet")
    assert (outcome.code, f"rm -r {parts}" in outcome.err) == (0, True)


def test_an_output_that_exists_is_refused_before_any_work(city: Path, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    with pytest.raises(OutputError, match="exists; choose another output"):
        in_blocks(city, tmp_path / "release", 40)
    assert os.listdir(tmp_path) == ["release"]  # noqa: PTH208  (names are what is asked)
