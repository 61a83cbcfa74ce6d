"""A folder's table is read and decoded once for all checks, and every check is handed its run."""

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from naive_release import PLANE, naive_release, small_city
from shoal.errors import InputError
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import KteAnonymity
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    UsefulnessJson,
    read_manifest,
    write_manifest,
)
from shoal.release_folder.packing import GEOMETRY, group_pieces
from shoal.release_folder.tables import write_table
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify_files
from shoal.verification.files.decoded import Decoder
from shoal.verification.files.folder import read_folder, verify_reading, with_new_page
from shoal.verification.files.written import read_written
from small_points import crowd
from written_folders import write_folder

Case = tuple[Trajectories, Release, Linkage]


def of_boxes() -> Case:
    original = small_city(crs=PLANE)
    return original, *naive_release(original, n_boxes=4, rng=Randomness.for_research(1))


def of_points() -> Case:
    original = crowd()
    return original, *SwapLocations(k=3).anonymize(original, Randomness.for_research(1))


def written(case: Case, folder: Path) -> Path:
    return write_folder(folder, case[1], shoal.verify(*case))


def counted(calls: Counter[str], name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        calls[name] += 1
        return work(*arguments, **named)

    return call


@pytest.mark.parametrize(
    ("make", "home", "decoder"),
    [(of_boxes, "precision", "boxes_as_written"), (of_points, "precision", "decode_points")],
)
def test_the_table_is_read_once_and_decoded_once(
    make: Callable[[], Case], home: str, decoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make()
    folder = written(case, tmp_path / "release")
    expected = verify_files(case[0], folder, case[2])
    assert expected.holds
    schema = pq.read_schema(folder / RELEASE_FILE)
    calls: Counter[str] = Counter()
    module = _module(f"shoal.verification.files.{home}")
    monkeypatch.setattr(module, decoder, counted(calls, "decoder", getattr(module, decoder)))
    decode, columns = pq.ParquetFile.read_row_group, Counter[str]()

    def read_columns(file: pq.ParquetFile, number: int, names: list[str], **how: Any) -> pa.Table:
        columns.update(names)
        return decode(file, number, names, **how)

    some_of, batches = pq.ParquetFile.iter_batches, Counter[str]()

    def read_some(file: pq.ParquetFile, *rows: Any, columns: list[str], **how: Any) -> Any:
        batches.update(columns)
        return some_of(file, *rows, columns=columns, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read_columns)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", read_some)
    read = Path.read_bytes

    def read_and_remove(path: Path) -> bytes:
        content = read(path)
        if path.name == RELEASE_FILE:
            calls["file"] += 1
            path.unlink()  # whoever opens it again, by whatever library, finds nothing
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_remove)
    assert verify_files(case[0], folder, case[2]) == expected
    assert calls == {"file": 1, "decoder": 1}
    assert columns + batches == dict.fromkeys(schema.names, 1)


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(name)


def test_each_form_of_the_identifiers_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, release, linkage = of_boxes()
    folder = written((original, release, linkage), tmp_path / "release")
    calls: Counter[str] = Counter()
    home = _module("shoal.verification.leaks.raw_identifiers")
    for form in ("identifier_kinds", "Digests", "_numbers_of"):
        monkeypatch.setattr(home, form, counted(calls, form, getattr(home, form)))
    assert verify_files(original, folder, linkage).holds
    assert calls == {"identifier_kinds": 1, "Digests": 1, "_numbers_of": 1}
    shoal.publish(original, shoal.Glove(k=2), tmp_path / "other", rng=Randomness.for_research(1), tries=0)
    assert calls == {"identifier_kinds": 2, "Digests": 2, "_numbers_of": 2}


def test_records_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    names = ["b", "a", "a", "b", "c"]
    pq.write_table(pa.table({"trajectory_id": names}), tmp_path / "t.parquet", row_group_size=2)
    table = read_written(tmp_path / "t.parquet")
    assert table.trajectory_ids == ("b", "a", "c")
    np.testing.assert_array_equal(table.record, [0, 1, 1, 0, 2])
    np.testing.assert_array_equal(table.offsets, [0, 2, 4, 5])


def test_a_table_without_rows_has_no_records(tmp_path: Path) -> None:
    pq.write_table(pa.table({"trajectory_id": pa.array([], pa.string())}), tmp_path / "t.parquet")
    table = read_written(tmp_path / "t.parquet")
    assert (table.trajectory_ids, len(table.record), table.offsets.tolist()) == ((), 0, [0])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_piece_is_gone_before_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    rows = pa.table({"trajectory_id": [f"{row // 4}" for row in range(12)], GEOMETRY: [b"12"] * 12})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=4)
    pieces: list[weakref.ref[pa.Table]] = []

    def watched(file: pq.ParquetFile, number: int) -> Iterator[pa.Table]:
        for piece in group_pieces(file, number):
            assert [one() for one in pieces] == [None] * len(pieces)
            pieces.append(weakref.ref(piece))
            yield piece
            del piece

    monkeypatch.setattr("shoal.verification.files.written.group_pieces", watched)
    read_written(tmp_path / "t.parquet", Run(threads=threads), passed=["trajectory_id", GEOMETRY])
    assert len(pieces) == 6


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_outlines_in_pieces_of_any_size_are_those_of_their_own_rows(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = of_boxes()
    folder = written(case, tmp_path / "release")
    monkeypatch.setattr("shoal.release_folder.packing._READ_AT_ONCE", at_once)
    as_written = read_folder(folder, case[1]).rows()
    assert (as_written.findings, as_written.packing) == ([], [])
    table = pq.read_table(folder / RELEASE_FILE)
    outlines = table[GEOMETRY].to_pylist()
    others = [outline for outline in outlines if outline != outlines[-1]]
    moved = pa.array([*outlines[:-1], others[0]], pa.binary())
    pq.write_table(table.set_column(table.num_columns - 1, GEOMETRY, moved), folder / RELEASE_FILE, 7)
    found = [finding.message for finding in read_folder(folder, case[1]).rows().findings]
    assert f"1 of {len(outlines)} geometries are not the rectangle of their own box" in found


@pytest.mark.parametrize("make", [of_boxes, of_points])
@pytest.mark.parametrize("n_rows", [0, 3])
def test_a_table_of_outlines_alone_is_refused(make: Callable[[], Case], n_rows: int, tmp_path: Path) -> None:
    original, release, linkage = make()
    folder = written((original, release, linkage), tmp_path / "release")
    pq.write_table(pa.table({GEOMETRY: pa.array([b"12"] * n_rows, pa.binary())}), folder / RELEASE_FILE)
    with pytest.raises(InputError, match="lacks the column"):
        read_folder(folder, release)
    with pytest.raises(InputError, match="lacks the column"):
        verify_files(original, folder, linkage)


def test_boxes_are_those_of_the_file_whatever_was_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = of_boxes()[1]
    grid, boxes = release.snapped_grid(), release.boxes
    write_table(release, tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    monkeypatch.setattr("shoal.verification.files.decoded._ROWS_AT_ONCE", 3)

    def moved(row: int) -> Boxes:
        column = boxes.x_min.copy()
        column[row] -= 1
        return replace(boxes, x_min=column)

    others = [moved(0), moved(4), moved(-1), boxes.take(slice(0, -1)), boxes.take(slice(0, 0))]
    narrower = replace(boxes, x_min=boxes.x_min.astype(np.int32))
    for expected in (None, boxes, *others, narrower):
        decoding = Decoder(grid, release.crs, expected)
        for first in range(0, len(table), 7):
            decoding.add_piece(table.slice(first, 7), len(table))
        result = decoding.finish()
        assert isinstance(result, Boxes)
        assert np.shares_memory(result.x_min, boxes.x_min) == (expected is boxes)
        for name in BOX_COLUMNS:
            assert getattr(result, name).dtype == np.int64
            np.testing.assert_array_equal(getattr(result, name), getattr(boxes, name))


def test_gaps_in_a_group_are_said_before_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    names = pa.array([b"\xff" * 4, b"good", b"also", None])
    for rows, message in ((2, "holds no text"), (4, "empty values")):
        pq.write_table(pa.table({"trajectory_id": names.slice(0, rows)}), path, row_group_size=rows)
        with pytest.raises(InputError, match=message):
            read_written(path)


@dataclass(frozen=True, kw_only=True)
class CountingRun(Run):
    """Counts the pieces of work that it is handed."""

    handed: list[int] = field(default_factory=list)

    def map(
        self, work: Callable[..., Any], parts: Iterable[Any], *, label: str | None = None
    ) -> Iterator[Any]:
        waiting = list(parts)
        self.handed.append(len(waiting))
        return super().map(work, waiting, label=label)


def test_the_run_reaches_every_check_that_works_in_parts(tmp_path: Path) -> None:
    original, release, linkage = of_boxes()
    release = replace(release, claim=KteAnonymity(k=2, tau_s=3600.0, epsilon_s=3600.0, hiders_stay=True))
    folder = written((original, release, linkage), tmp_path / "release")
    alone, of_folder = CountingRun(threads=1), CountingRun(threads=1)
    assert shoal.verify(original, release, linkage, run=alone).holds
    assert verify_files(original, folder, linkage, run=of_folder).holds
    assert len(alone.handed) == len(of_folder.handed) == 3


@pytest.mark.parametrize("make", [of_boxes, of_points])
def test_a_claim_is_checked_again_only_where_the_folder_holds_another_release(
    make: Callable[[], Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, release, linkage = make()
    folder = written((original, release, linkage), tmp_path / "release")
    verdict = shoal.verify(original, release, linkage)
    expected = verify_files(original, folder, linkage)
    calls: Counter[str] = Counter()
    home = _module("shoal.verification.files.folder")
    monkeypatch.setattr(home, "verdict_on", counted(calls, "claim", home.verdict_on))

    def checked(judged: Release) -> Verdict:
        looked = read_folder(folder, judged)
        return verify_reading(original, looked, linkage, run=Run(), judged=(judged, verdict))

    assert checked(release) == expected
    assert not calls
    payload = release.payload
    name = "x_min" if release.kind == "boxes" else "x"
    moved = getattr(payload, name).copy()
    moved[-1] -= 1
    others = [
        replace(release, payload=replace(payload, **{name: moved})),
        replace(release, trajectory_ids=(*release.trajectory_ids[:-1], "another")),
        replace(release, losses=replace(release.losses, subjects_suppressed=1)),
        replace(release, parameters={**release.parameters, "one": "more"}),
    ]
    for other in others:
        assert checked(other) == expected
    assert calls == {"claim": len(others)}
    assert len(others) == 4


@pytest.mark.parametrize("make", [of_boxes, of_points])
def test_of_a_folder_that_was_read_before_its_page_nothing_else_may_change(
    make: Callable[[], Case], tmp_path: Path
) -> None:
    original, release, linkage = make()
    folder = written((original, release, linkage), tmp_path / "release")
    verdict, manifest = shoal.verify(original, release, linkage), read_manifest(folder)
    looked = read_folder(folder, release)
    assert looked.rows().release is release

    def found() -> Counter[str]:
        return Counter(
            finding.kind
            for finding in verify_reading(
                original,
                with_new_page(looked, release),
                linkage,
                run=Run(),
                judged=(release, verdict),
            ).findings
        )

    (folder / REPORT_FILE).write_text("a page")
    assert found()["wrong-hash"] == 1
    digest = {"report_sha256": sha256_of(folder / REPORT_FILE)}
    write_manifest(manifest.model_copy(update=digest), folder / MANIFEST_FILE)
    assert found().keys() == {"private-page"}  # it does not say that it is a public one
    losses = manifest.losses.model_copy(update={"subjects_suppressed": 1})
    write_manifest(manifest.model_copy(update={**digest, "losses": losses}), folder / MANIFEST_FILE)
    assert "lost-subjects-not-counted" in found()


def test_a_page_and_its_usefulness_are_no_reason_to_read_the_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, release, linkage = of_boxes()
    folder = written((original, release, linkage), tmp_path / "release")
    looked, manifest = read_folder(folder, release), read_manifest(folder)
    useful = UsefulnessJson(uses={}, median_space_m=1.0, median_time_s=1.0, zone_m=1.0)
    changed = manifest.model_copy(update={"report_sha256": "0" * 64, "usefulness": useful})
    write_manifest(changed, folder / MANIFEST_FILE)
    monkeypatch.setattr(_module("shoal.verification.files.folder"), "read_written", None)
    assert with_new_page(looked, release).manifest == changed


def test_releases_are_the_same_only_to_the_last_bit() -> None:
    one = of_points()[1]
    points, n = one.points, one.n_samples
    degrees = {"lat": np.zeros(n), "lon": np.zeros(n)}
    suffix = replace(one, payload=replace(points, **degrees))
    shifted = one.offsets.copy()
    shifted[1] += 1
    others = [
        of_boxes()[1],
        suffix,
        replace(one, offsets=shifted),
        replace(one, payload=replace(points, t=points.t + 1)),
        replace(one, payload=replace(points, x=points.x.astype(np.int64))),
        replace(one, crs=PLANE),
    ]
    home = _module("shoal.verification.files.folder")
    assert home._are_equal_releases(one, replace(one, payload=replace(points, x=points.x.copy())))
    assert home._are_equal_releases(suffix, replace(suffix, crs=suffix.crs))
    assert [home._are_equal_releases(one, other) for other in others] == [False] * len(others)
    assert [home._are_equal_releases(other, one) for other in others] == [False] * len(others)
    assert (points.x == points.x.astype(np.int64)).all()
