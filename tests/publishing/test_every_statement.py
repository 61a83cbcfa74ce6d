"""Every entry of a manifest is changed, one at a time; what is accepted stands in one list, with reasons."""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pa_csv

import shoal
from claim_check import verdict_on_claim
from manifest_changes import changes, entries_of
from shoal.errors import ShoalError
from shoal.io.reading import read_with
from shoal.model.release import SeriesPlace
from shoal.publishing.verifying import add_claim_shortfalls
from shoal.release_folder.folder import build_release, raw_reading
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    Manifest,
    UsefulnessJson,
    build_manifest,
    read_manifest,
    write_manifest,
)
from shoal.release_folder.tables import write_table
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Run
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of
from shoal.verification.files.stated import false_statements, manifest_mismatches
from shoal.verification.files.visible import count_beyond_parameters, parameter_findings
from small_points import crowd

# what a changed manifest may say and hold: the entry without its last dots, and why no check can tell
ACCEPTED: Final = {
    "publishable": "no seed leaves a trace",
    "series": "the place in a series follows from its state, which is secret",
    "usefulness": "measured by the publisher, and marked as that; uses and answers follow the scores",
    "parameters.refine": "how crowds were looked for: another search may end in the same crowds",
    "parameters.refine_rounds": "as refine",
    "parameters.space_cap_m": "as refine",
    "parameters.time_cap_s": "as refine",
    "parameters.extent_at_most": "without it, boxes may be as small",
    "parameters.neighborhood": "as refine",
    "parameters.space_weight_s": "as refine",
    "parameters.speed_m_s": "as refine",
    "parameters.chunk": "as refine",
    "rows_repaired.rows out of time order": "another file of the same rows may have another order",
    "reading.not_after_s": "the day of the reading; rows that it drops are counted",
    "reading.ids_as_they_are": "an answer to a question that the reader asks again",
    "reading.lose_people": "as ids_as_they_are",
    "reading.places": "the name of a file, which may have another one elsewhere; its digest is compared",
    "reading.sensitive": "as places",
}
# read again as the manifest says, these settings give the same rows
READ_ALIKE: Final = {
    "reading.min_active_days",
    "reading.min_samples_per_day",
    "reading.columns",
    "reading.table",
}


@dataclass(frozen=True)
class Case:
    """A sound folder and what it was made from."""

    source: pa.Table
    original: shoal.Trajectories
    release: shoal.Release
    linkage: shoal.Linkage
    verdict: shoal.Verdict
    folder: Path
    lists: dict[str, Any]

    def accepts(self, entries: dict[str, Any], original: shoal.Trajectories | None) -> bool:
        """Whether the checks of statements accept a manifest. original: None is read as the manifest says."""
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        (self.folder / MANIFEST_FILE).write_text(text)
        try:
            manifest = read_manifest(self.folder)
            original = original or read_with(self.source, raw_reading(self.folder, **self.lists), Run())
            release = build_release(
                self.folder,
                manifest,
                trajectory_ids=self.release.trajectory_ids,
                offsets=self.release.offsets,
                payload=self.release.payload,
            )
            return not self._is_found(manifest, release, original)
        except ShoalError:
            return False

    def _is_found(self, manifest: Manifest, release: shoal.Release, original: shoal.Trajectories) -> bool:
        counts = release.n_records, release.n_samples
        if any(manifest_mismatches(self.folder, manifest, sha256_of(self.folder / RELEASE_FILE), *counts)):
            return True
        if any(false_statements(manifest, self.verdict, original, linked=True)):
            return True
        if not add_claim_shortfalls(self.verdict, manifest, None).holds:
            return True
        verdict = verdict_on_claim(original, release, self.linkage)
        return (
            not verdict.holds
            or any(false_statements(manifest, verdict, original, linked=True))
            or any(parameter_findings(count_beyond_parameters(release), release.kind))
        )


METHODS: Final[dict[str, shoal.Method]] = {
    "swap": shoal.SwapLocations(k=2),
    "series": shoal.Glove(k=2, extent_at_most="5km,2h"),
    "kte-hide": shoal.KteHide(k=2, tau_s=1800.0, epsilon_s=1800.0),
    "static": shoal.StaticGeneralization(k=2, grid_m=20_000.0, slot_s=86_400.0),
    "places": shoal.Glove(k=2, hull="leaves:4:0.8", diverse_places=2),
    "nwa": shoal.Nwa(k=2, delta_m=500.0, pi_s=300.0, step_s=10.0),
    "w4m": shoal.W4m(k=2, delta_m=500.0),
}


@cache
def city() -> pa.Table:
    table = shoal.synthesize(16, 1, 3, layout="city")
    return pa.concat_tables([table, table.slice(0, 3)])  # so that rows are dropped


@cache
def walks() -> pa.Table:
    people = crowd(36, 40)
    ids = [people.ids[i] for i, n in enumerate(people.lengths.tolist()) for _ in range(n)]
    return pa.table({"uid": ids, "t": people.t + 1.7e9, "x": people.x, "y": people.y})


def made(name: str, folder: Path) -> Case:
    method = METHODS[name]
    of_points = name in ("swap", "nwa", "w4m")
    source = walks() if of_points else city()
    options: dict[str, Any] = {"snap": False} if of_points else {}
    lists: dict[str, Any] = {}
    if name == "places":
        stations = source.group_by(["lat", "lon"]).aggregate([([], "count_all")])
        stations = stations.rename_columns(["lat", "lon", "busyness"])
        pa_csv.write_csv(stations, folder / "places.csv")
        lists["places"] = str(folder / "places.csv")
        options["places_are_public"] = True
        kinds = stations.slice(5, 3).add_column(0, "kind", [["hospital"] * 3])
        pa_csv.write_csv(kinds, folder / "sensitive.csv")
        lists["sensitive"] = str(folder / "sensitive.csv")
    if name == "series":
        options |= {"per_day": True, "min_samples_per_day": 2.0}
    original = shoal.read(source, **options, **lists)
    release, linkage = method.anonymize(original, shoal.Randomness.from_system())
    if name == "series":
        place = SeriesPlace(
            series=1, number=2, waiting=release.losses.subjects_suppressed, newcomers=3, crowds=5
        )
        release = replace(release, series=place)
    write_table(release, folder / RELEASE_FILE)
    verdict = verdict_on_claim(original, release, linkage)
    assert verdict.holds, verdict
    manifest = build_manifest(release, verdict, folder / RELEASE_FILE)
    if name == "places":
        useful = usefulness_of(Facts(original, release, linkage)).to_json()
        manifest = manifest.model_copy(update={"usefulness": UsefulnessJson(**useful)})
    write_manifest(manifest, folder / MANIFEST_FILE)
    return Case(source, original, release, linkage, verdict, folder, lists)


def test_no_statement_of_a_manifest_can_be_changed_but_those_of_one_list(tmp_path: Path) -> None:
    accepted, tried = defaultdict[str, set[str]](set), set[tuple[str, str, str]]()
    for name in METHODS:
        folder = tmp_path / name
        folder.mkdir()
        case = made(name, folder)
        manifest = json.loads((folder / MANIFEST_FILE).read_text())
        assert case.accepts(manifest, case.original), name
        for path, value in entries_of(manifest):
            entry = ".".join(map(str, path))
            same = "" if path[0] == "reading" else case.release.kind, entry, json.dumps(value)
            if same in tried:  # in a manifest of another method
                continue
            tried.add(same)
            for entries in changes(manifest, path, value):
                if case.accepts(entries, case.original):
                    accepted[entry].add(name)
                elif name == "swap" and path[0] == "reading" and case.accepts(entries, None):
                    accepted[entry].add("read again")
    assert len(tried) > 250
    reason_of = {
        entry: next((one for one in ACCEPTED if f"{entry}.".startswith(f"{one}.")), None)
        for entry in accepted
    }
    again = {entry for entry, names in accepted.items() if names == {"read again"}}
    assert again == READ_ALIKE
    assert {entry for entry, reason in reason_of.items() if reason is None} == again
    assert set(reason_of.values()) - {None} == set(ACCEPTED)
