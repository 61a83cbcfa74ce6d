"""One release of a study: made, attacked and measured, or taken from an earlier run."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from shoal.attacks.attacking import TARGETS, attack
from shoal.attacks.knowledge import also_on_points, of_its_claim
from shoal.attacks.rate import Attacked, Rate, TargetName
from shoal.comparison.places import digest_of, fingerprint_of, place_of, write_text
from shoal.comparison.study import Setting, Study
from shoal.errors import MisuseError, OutputError
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILE
from shoal.model.trajectories import Trajectories
from shoal.publishing.publish import publish
from shoal.release_folder.folder import read_linkage, read_release
from shoal.report.facts.omission import omission_frontier
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import explain_write_errors
from shoal.utility import Facts, measured
from shoal.version import __version__

_RELEASE_ALONE: Final[tuple[TargetName, ...]] = ("release",)
RUNS_FOLDER: Final = "runs"


def result_of(
    setting: Setting,
    source: Trajectories,
    outside: Trajectories | None,
    published: Trajectories,
    control: Trajectories | None,
    study: Study,
    folder: Path,
    run: Run,
) -> dict[str, Any]:
    """The release's attacks and measurements: from an earlier run if they are there, else made and kept.

    source: what the method is handed, points as given or ``published``, the snapped samples by which every
    release is judged. outside: the control group in the same form.
    """
    known = {
        text: [text, *also_on_points(text)] if setting.method.about.publishes == "points" else [text]
        for text in study.knowledge
    }
    asked = digest_of(
        [
            __version__,
            list(known.values()),
            [row.text for row in of_its_claim(setting.method.claim())],
            study.tries,
            study.seed,
            None if control is None else fingerprint_of(control),
        ]
    )
    place = place_of(setting, source, folder)
    result_file = place / f"result-{asked}.json"
    if result_file.exists():
        return {
            **json.loads(result_file.read_text(encoding="utf-8")),
            "label": setting.label,
            "claim": setting.method.claim().name,
        }
    facts = None if _is_made(place) else _made(setting, source, place, run)
    given, linkage = read_release(place / "release"), read_linkage(place / "linkage.parquet")
    release = given.as_boxes(published.snapped_grid())
    if facts is None or given.kind == "points":  # points are judged on the cells of ``published``
        facts = Facts(published, release, linkage, run=run)
    measurements = measured(facts)
    del facts  # attacks need the memory
    on_cells = _Side(raw=published, release=release, linkage=linkage, control=control)
    as_given = _Side(raw=source, release=given, linkage=linkage, control=outside)
    found = on_cells.attacked(known, study, run)
    rates = [*found.rates]
    as_points = dict.fromkeys(text for asked_of in known.values() for text in asked_of[1:])
    if as_points:
        rates += as_given.attacked(as_points, study, run).rates
    attacks = {
        text: [rate.to_json() for rate in rates if rate.asked in asked_of] for text, asked_of in known.items()
    }
    own, not_played = _attacks_of_its_claim(on_cells, as_given, study, run)
    result = {
        "label": setting.label,
        "method": setting.name,
        "claim": setting.method.claim().name,
        "parameters": setting.method.parameters(),
        "folder": f"{RUNS_FOLDER}/{place.name}/release",
        "attacks": attacks,
        "attacks_of_its_claim": [rate.to_json() for rate in own],
        "measurements": [one.to_json() for one in measurements],
        "notes": list(dict.fromkeys([*found.notes, *not_played])),
    }
    write_text(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n", result_file)
    return result


def _is_made(place: Path) -> bool:
    """Whether an earlier run made the release; raises OutputError where its linkage is lost."""
    has_release, has_linkage = (place / "release").exists(), (place / "linkage.parquet").exists()
    if has_release and not has_linkage:
        raise OutputError(f"{place} holds a release without its linkage; remove that folder and run again")
    return has_release


def _made(setting: Setting, source: Trajectories, place: Path, run: Run) -> Facts | None:
    """Publish the release into a place of its own."""
    with explain_write_errors(place):
        place.mkdir(exist_ok=True)
    for left in ("linkage.parquet", TRACE_FILE):
        (place / left).unlink(missing_ok=True)
    return publish(
        source,
        setting.method,
        place / "release",
        rng=Randomness.from_system(),
        run=run,
        linkage_file=place / "linkage.parquet",
        tries=0,  # the study attacks it itself
    ).facts


@dataclass(frozen=True, kw_only=True)
class _Side:
    """A release, raw data and control group in one form: on cells and slots, or as given."""

    raw: Trajectories
    release: Release
    linkage: Linkage
    control: Trajectories | None

    def attacked(
        self, knowledge: Iterable[str], study: Study, run: Run, targets: Collection[TargetName] = TARGETS
    ) -> Attacked:
        """What the adversaries win who know this; what is known of whom is the same for every release."""
        return attack(
            self.raw,
            self.release,
            self.linkage,
            knowledge=list(knowledge),
            rng=Randomness.for_research(study.seed),
            tries=study.tries,
            control=self.control,
            targets=targets,
            run=run,
        )


def _attacks_of_its_claim(
    on_cells: _Side, as_given: _Side, study: Study, run: Run
) -> tuple[list[Rate], list[str]]:
    """The rates of the adversaries that test the release's own claim, and a note for each not played."""
    rates: list[Rate] = []
    notes: list[str] = []
    for one in of_its_claim(as_given.release.claim):
        side = replace(on_cells if one.adversary.takes_boxes else as_given, control=None)
        try:
            rates += side.attacked([one.text], study, run, _RELEASE_ALONE).rates
        except MisuseError as error:
            notes.append(f"{one.text} was not played: {error}")
    return rates, notes


def omission_of(
    setting: Setting, source: Trajectories, published: Trajectories, folder: Path, run: Run
) -> dict[str, Any]:
    """What leaving samples out would buy in a finished release, kept beside it; None without k-merge."""
    place = place_of(setting, source, folder)
    kept = place / "omission.json"
    if not kept.exists():
        release, linkage = read_release(place / "release"), read_linkage(place / "linkage.parquet")
        found = (
            omission_frontier(Facts(published, release, linkage, run=run))
            if release.kind == "boxes"
            else None
        )
        told = {"omission": None if found is None else found.to_json()}
        write_text(json.dumps(told, indent=2, allow_nan=False) + "\n", kept)
    told = json.loads(kept.read_text(encoding="utf-8"))
    return dict(told)
