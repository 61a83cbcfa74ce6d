"""Several releases of the same data, attacked and measured alike: frontier, equal risk, and a recommendation.

Finished releases and results stand in ``runs/`` of the output folder under names made from the data and the
settings; a study that is interrupted, or extended, goes on where it was. The folder holds linkage tables and
figures from raw data: it is as secret as these.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.attacks.attacking import TARGETS, attack
from shoal.attacks.knowledge import also_on_points, is_to_the_point, no_rate, of_its_claim, rates_alike
from shoal.attacks.rate import Attacked, Rate, TargetName, gain
from shoal.comparison.places import digest_of, fingerprint_of, place_of
from shoal.comparison.study import Setting, Study
from shoal.errors import ClaimError, MisuseError, NothingLeftError, OutputError
from shoal.measures.query import boxes_of
from shoal.methods import METHODS
from shoal.model.given import require_one_region, require_trajectories
from shoal.model.release import Linkage, Release
from shoal.model.summaries import table
from shoal.model.trace import TRACE_FILE
from shoal.model.trajectories import Trajectories
from shoal.publishing.publish import publish
from shoal.publishing.writing import write_page
from shoal.release_folder.folder import read_linkage, read_release
from shoal.report.facts.density import Density, densities_alike
from shoal.report.facts.omission import omission_frontier
from shoal.report.pages.comparison import RAW_DATA, comparison_page
from shoal.runtime.json_values import null_for_nan
from shoal.runtime.paths import path_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write
from shoal.utility import METRICS, Facts, measured
from shoal.utility.frontier import (
    LEVELS,
    STRONGEST,
    Better,
    Point,
    Recommendation,
    at_equal_risk,
    frontier,
    recommend,
)

REPORT_FILE: Final = "comparison.html"
_RELEASE_ALONE: Final[tuple[TargetName, ...]] = ("release",)
TABLE_FILE: Final = "comparison.json"
RUNS_FOLDER: Final = "runs"
_MOST_MAPS: Final = 5
_PIXELS: Final = 90


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a study found.

    results: one JSON document for each release. failed: settings that gave no release, with the reason.
    """

    results: tuple[Mapping[str, Any], ...]
    failed: Mapping[str, str]
    points: tuple[Point, ...]
    better: Better
    recommendation: Recommendation
    study: Study

    @property
    def ranking(self) -> tuple[Point, ...]:
        """The releases by the strongest adversary of each, the safest first."""
        return tuple(sorted(self.points, key=lambda point: (point.worst_gain, point.label)))

    def _repr_html_(self) -> str:
        metric = METRICS[self.study.budget.utility]
        best = {point.label for point in frontier(self.points, self.better)}
        rows = [
            (
                point.label,
                "" if math.isnan(point.worst) else f"{point.worst:.1%} ({point.worst_by})",
                "" if math.isnan(point.utility) else f"{point.utility:.4g} {metric.unit}",
                "no other is better in both" if point.label in best else "",
            )
            for point in self.ranking
        ]
        rows += [(label, "no release", "", reason) for label, reason in self.failed.items()]
        header = ("release", "strongest adversary right in", metric.question, "")
        return table("Comparison", rows, header=header, notes=self.recommendation.reasons)

    def to_json(self) -> dict[str, Any]:
        """Everything, with the frontier and the table at equal measured risk."""
        rows = at_equal_risk(self.points, (*LEVELS, self.study.budget.at_most), self.better)
        return {
            "budget": {**asdict(self.study.budget), "words": self.study.budget.words},
            "recommendation": {
                "release": self.recommendation.label,
                "reasons": list(self.recommendation.reasons),
            },
            "frontier": [point.label for point in frontier(self.points, self.better)],
            "points": [null_for_nan(asdict(point)) for point in self.points],
            "ranking": [point.label for point in self.ranking],
            "at_equal_risk": [
                {
                    "risk_at_most": level,
                    "best": {method: None if point is None else point.label for method, point in row.items()},
                }
                for level, row in rows
            ],
            "failed": dict(self.failed),
            "releases": list(self.results),
        }


def compare(
    original: Trajectories,
    study: Study,
    output: Path,
    run: Run | None = None,
    *,
    given: Trajectories | None = None,
) -> Comparison:
    """Make, attack and measure every release of a study, and write ``comparison.json`` and its page.

    Parameters
    ----------
    original
        The raw data, on a grid.
    study
        What to compare, as ``read_study`` reads it.
    output
        A folder for everything, as secret as raw data. An earlier comparison there goes on.
    run
        Where progress is reported and how many threads may work.
    given
        The same people with their points as given, for methods that publish points. Their releases are judged
        on the cells and slots of ``original``, as all are.

    Returns
    -------
    Comparison
        Every release with its figures, and which to take for the study's budget.

    Raises
    ------
    OutputError
        When ``output`` holds something else or cannot be written.
    MisuseError
        When too few people are left, or the samples are on no grid. Nothing was written then.

    Examples
    --------
    >>> import shoal, tempfile
    >>> from pathlib import Path
    >>> from shoal.comparison.compare import compare
    >>> from shoal.comparison.study import Setting, Study
    >>> from shoal.utility.frontier import Budget
    >>> calls = shoal.read(shoal.synthesize(n_subjects=60, days=1, seed=1))
    >>> settings = tuple(
    ...     Setting(label=f"glove k={k}", name="glove", method=shoal.Glove(k=k)) for k in (2, 3)
    ... )
    >>> study = Study(settings=settings, budget=Budget(), knowledge=("points:4",), tries=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = compare(calls, study, Path(folder) / "study")
    >>> [point.label for point in found.points]
    ['glove k=2', 'glove k=3']
    """
    require_trajectories(original)
    require_one_region(original.intake.notes)
    if not isinstance(study, Study):
        raise MisuseError("a Study is needed; shoal.read_study reads one from its file")
    output = path_of(output, "the folder of the study")
    run = run or Run()
    if (
        output.exists()
        and not (output / RUNS_FOLDER).is_dir()
        and (not output.is_dir() or any(output.iterdir()))
    ):
        raise OutputError(f"{output} exists and holds no earlier comparison; choose another --output")
    grid = original.snapped_grid()
    published, control = _held_out(original, study)
    points_of, control_points = (None, None) if given is None else _held_out(given, study)
    if points_of is not None and points_of.ids != published.ids:
        raise MisuseError(
            "the points as given are of other people than the snapped samples; read both from one input"
        )
    with explained_write(output):
        (output / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)
        output.chmod(0o700)
    results: list[Mapping[str, Any]] = []
    failed: dict[str, str] = {}
    for done, setting in enumerate(study.settings):
        run.progress("releases", done, len(study.settings))
        try:
            source, outside = published, control
            if setting.method.about.publishes == "points":
                if points_of is None:
                    raise MisuseError(f"{setting.name} publishes points; give the input as given, too")
                source, outside = points_of, control_points
            results.append(
                _result_of(setting, source, outside, published, control, study, output / RUNS_FOLDER, run)
                | (
                    _omission_of(setting, source, published, output / RUNS_FOLDER, run)
                    if study.frontier
                    else {}
                )
            )
        except (NothingLeftError, ClaimError, MisuseError) as error:
            failed[setting.label] = str(error)
    run.progress("releases", len(study.settings), len(study.settings))
    better = METRICS[study.budget.utility].better
    points = tuple(_point(result, study) for result in results)
    found = Comparison(
        results=tuple(results),
        failed=failed,
        points=points,
        better=better,
        recommendation=recommend(points, study.budget, better),
        study=study,
    )
    _write_text(
        json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n", output / TABLE_FILE
    )
    _write_text(
        comparison_page(
            found.to_json(),
            points,
            better=better,
            words=METRICS[study.budget.utility].question,
            unit=METRICS[study.budget.utility].unit,
            people=(published.n_subjects, 0 if control is None else control.n_subjects),
            maps=_maps(published, points, better, results, output),
            grid=grid,
            crs=published.crs,
        ),
        output / REPORT_FILE,
    )
    return found


def _held_out(original: Trajectories, study: Study) -> tuple[Trajectories, Trajectories | None]:
    """The people to publish, and those kept out of every release."""
    people, size = study.held_out(original.n_subjects)
    if people == original.n_subjects:
        return original, None
    order = np.random.default_rng(study.seed).permutation(original.n_subjects)[: people + size]
    if not size:
        return original.keep(order), None
    return original.keep(order[size:]), original.keep(order[:size])


def _result_of(
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
    _write_text(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n", result_file)
    return result


def _is_made(place: Path) -> bool:
    """Whether an earlier run made the release; raises OutputError where its linkage is lost."""
    has_release, has_linkage = (place / "release").exists(), (place / "linkage.parquet").exists()
    if has_release and not has_linkage:
        raise OutputError(f"{place} holds a release without its linkage; remove that folder and run again")
    return has_release


def _made(setting: Setting, source: Trajectories, place: Path, run: Run) -> Facts | None:
    """Publish the release into a place of its own."""
    with explained_write(place):
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


def _omission_of(
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
        _write_text(json.dumps(told, indent=2, allow_nan=False) + "\n", kept)
    told = json.loads(kept.read_text(encoding="utf-8"))
    return dict(told)


def _maps(
    published: Trajectories,
    points: Sequence[Point],
    better: Better,
    results: Sequence[Mapping[str, Any]],
    output: Path,
) -> dict[str, Density]:
    """How densely the raw samples and the best trade-offs lie, all over the same part of the plane."""
    folders = {result["label"]: output / result["folder"] for result in results}
    best = [point.label for point in frontier(points, better)[:_MOST_MAPS]]
    raw, _, grid = boxes_of(published)
    of = {RAW_DATA: raw} | {label: read_release(folders[label]).as_boxes(grid).boxes for label in best}
    return densities_alike(of, _PIXELS)


def _point(result: Mapping[str, Any], study: Study) -> Point:
    """The release by the budget's metric, and by the adversary that the budget is about."""
    budget = study.budget
    played = [*result["attacks"].values(), result["attacks_of_its_claim"]]
    kind = METHODS[result["method"]].about.publishes
    worst = max(
        (one for rates in played for one in rates if one["target"] == "release"),
        key=lambda one: (is_to_the_point(one["name"], kind), gain_of(one)),
    )
    risk, low, high = _risk(result, study, worst)
    value = next(entry["value"] for entry in result["measurements"] if entry["name"] == budget.utility)
    return Point(
        label=result["label"],
        method=result["method"],
        risk=risk,
        risk_low=low,
        risk_high=high,
        utility=math.nan if value is None else value,
        worst=worst["rate"],
        worst_by=f"{worst['name']}, {worst['knowledge']}",
        worst_gain=gain_of(worst),
    )


def _risk(result: Mapping[str, Any], study: Study, worst: Mapping[str, Any]) -> tuple[float, float, float]:
    """What is held against the budget, with its interval: the strongest adversary's gain, or one rate."""
    budget = study.budget
    if budget.attack == STRONGEST:
        risk, low, high = (max(gain(worst[end], worst["baseline"]), 0.0) for end in ("rate", "low", "high"))
        return risk, low, high
    names = [entry["name"] for entry in result["attacks"][budget.knowledge] if entry["target"] == "release"]
    if budget.attack not in names:
        raise no_rate(budget.knowledge, budget.attack, names, or_else=STRONGEST)
    alike = rates_alike(budget.knowledge, budget.attack)  # the adversary who wins most with this knowledge
    tried = [
        e for e in result["attacks"][budget.knowledge] if e["name"] in alike and e["target"] == "release"
    ]
    most = max(tried, key=lambda entry: entry["rate"])
    return most["rate"], most["low"], most["high"]


def gain_of(entry: Mapping[str, Any]) -> float:
    """What an adversary wins of what guessing leaves."""
    return gain(float(entry["rate"]), float(entry["baseline"]))


def _write_text(text: str, path: Path) -> None:
    """Write a file of its owner's, complete or not at all; an earlier one is replaced."""
    write_page(text, path)
    path.chmod(0o600)
