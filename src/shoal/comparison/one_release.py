"""One release of a study, made or taken from an earlier run."""

import hashlib
import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from shoal.attacks.attacking import TARGETS, AttackScope, prepare
from shoal.attacks.knowledge import also_on_points, of_its_claim, parse_knowledge
from shoal.attacks.rate import AttackResult, Rate, TargetName
from shoal.attacks.table import ATTACKS
from shoal.comparison.study import Setting, Study
from shoal.errors import OutputError
from shoal.methods import METHODS
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILE
from shoal.model.trajectories import Trajectories, digest_of_data
from shoal.publishing.publish import publish
from shoal.release_folder.folder import read_linkage, read_release
from shoal.report.facts.omission import omission_frontier
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import explain_write_errors, write_private
from shoal.utility import METRICS, Facts, measure_facts
from shoal.utility.usefulness import usefulness_of
from shoal.version import __version__


def place_of(setting: Setting, source: Trajectories, folder: Path) -> Path:
    """Its folder, named by the data and the settings."""
    facts = [setting.method.parameters(), source.intake.unit_of_protection, digest_of_data(source)]
    return folder / f"{setting.name}-{digest_of([setting.name, *facts])}"


def digest_of(parts: Sequence[Any]) -> str:
    """Twelve hexadecimal digits for a JSON value."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


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
    """Attacks and measurements, stored or computed on its input and ``published`` samples.

    Of a registered method, metric or attack nothing is taken from an earlier run: its code may have changed.
    """
    knowledge_by_text = {
        text: [text, *also_on_points(text)] if setting.method.about.publishes == "points" else [text]
        for text in study.knowledge
    }
    asked = digest_of(
        [
            __version__,
            list(knowledge_by_text.values()),
            [row.text for row in of_its_claim(setting.method.claim())],
            study.tries,
            study.seed,
            None if control is None else digest_of_data(control),
        ]
    )
    place = place_of(setting, source, folder)
    result_file = place / f"result-{asked}.json"
    if not METHODS.is_shoals(setting.name):
        shutil.rmtree(place, ignore_errors=True)
    adversaries = (parse_knowledge(text).adversary.name for text in study.knowledge)
    is_fixed = all(map(METRICS.is_shoals, METRICS)) and all(map(ATTACKS.is_shoals, adversaries))
    if is_fixed and result_file.exists():
        return {
            **json.loads(result_file.read_text(encoding="utf-8")),
            "label": setting.label,
            "claim": setting.method.claim().name,
        }
    facts = None if _is_made(place) else _make_release(setting, source, place, run)
    as_published, linkage = read_release(place / "release"), read_linkage(place / "linkage.parquet")
    release = as_published.as_boxes(published.snapped_grid())
    if facts is None or as_published.kind == "points":  # points are judged on the cells of ``published``
        facts = Facts(published, release, linkage, run=run)
    usefulness = usefulness_of(facts)
    measurements = measure_facts(facts)
    del facts  # attacks need the memory
    on_cells = _AttackInput(raw=published, release=release, linkage=linkage, control=control)
    as_given = _AttackInput(raw=source, release=as_published, linkage=linkage, control=outside)
    attack_result = on_cells.attacked(knowledge_by_text, study, run)
    rates = [*attack_result.rates]
    as_points = dict.fromkeys(text for asked_of in knowledge_by_text.values() for text in asked_of[1:])
    if as_points:
        rates += as_given.attacked(as_points, study, run).rates
    attacks = {
        text: [rate.to_json() for rate in rates if rate.asked in asked_of]
        for text, asked_of in knowledge_by_text.items()
    }
    claim_rates, not_played = _attacks_of_its_claim(on_cells, as_given, study, run)
    result = {
        "label": setting.label,
        "method": setting.name,
        "claim": setting.method.claim().name,
        "parameters": setting.method.parameters(),
        "folder": f"{RUNS_FOLDER}/{place.name}/release",
        "attacks": attacks,
        "attacks_of_its_claim": [rate.to_json() for rate in claim_rates],
        "usefulness": usefulness.to_json(),
        "measurements": [one.to_json() for one in measurements],
        "notes": list(dict.fromkeys([*attack_result.notes, *not_played])),
    }
    write_private(result_file, json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return result


def _is_made(place: Path) -> bool:
    """Raises OutputError where its linkage is lost."""
    has_release, has_linkage = (place / "release").exists(), (place / "linkage.parquet").exists()
    if has_release and not has_linkage:
        raise OutputError(f"{place} holds a release without its linkage; remove that folder and run again")
    return has_release


def _make_release(setting: Setting, source: Trajectories, place: Path, run: Run) -> Facts | None:
    with explain_write_errors(place):
        place.mkdir(exist_ok=True)
    for leftover in ("linkage.parquet", TRACE_FILE):
        (place / leftover).unlink(missing_ok=True)
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
class _AttackInput:
    raw: Trajectories
    release: Release
    linkage: Linkage
    control: Trajectories | None

    def attacked(
        self, knowledge: Iterable[str], study: Study, run: Run, targets: Collection[TargetName] = TARGETS
    ) -> AttackResult:
        """Knowledge is drawn alike for every release; notes say which of it this data does not allow."""
        prepared = prepare(
            self.raw,
            self.release,
            self.linkage,
            Randomness.for_research(study.seed),
            tries=study.tries,
            scope=AttackScope(control=self.control, targets=targets),
            run=run,
        )
        return prepared.rates_of([parse_knowledge(text) for text in knowledge], forgives=lambda _: True)


def _attacks_of_its_claim(
    on_cells: _AttackInput, as_given: _AttackInput, study: Study, run: Run
) -> tuple[list[Rate], list[str]]:
    rates: list[Rate] = []
    notes: list[str] = []
    for one in of_its_claim(as_given.release.claim):
        side = replace(on_cells if one.adversary.takes_boxes else as_given, control=None)
        found = side.attacked([one.text], study, run, _RELEASE_ALONE)
        rates += found.rates
        notes += found.notes
    return rates, notes


def omission_of(
    setting: Setting, source: Trajectories, published: Trajectories, folder: Path, run: Run
) -> dict[str, Any]:
    """What leaving samples out would gain, from omission.json or computed; None where the method cannot."""
    place = place_of(setting, source, folder)
    omission_file = place / "omission.json"
    if not omission_file.exists():
        release, linkage = read_release(place / "release"), read_linkage(place / "linkage.parquet")
        frontier = (
            omission_frontier(Facts(published, release, linkage, run=run))
            if release.kind == "boxes"
            else None
        )
        document = {"omission": None if frontier is None else frontier.to_json()}
        write_private(omission_file, json.dumps(document, indent=2, allow_nan=False) + "\n")
    document = json.loads(omission_file.read_text(encoding="utf-8"))
    return dict(document)
