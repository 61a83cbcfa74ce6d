"""Compare releases of the same data by risk and utility, and recommend one.

Results in ``runs/`` let a study resume; linkages make it as secret as raw data.
"""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.attacks.attacking import NO_CONTROL
from shoal.attacks.knowledge import no_rate, rates_alike, strength
from shoal.attacks.rate import gain
from shoal.comparison.one_release import RUNS_FOLDER, omission_of, result_of
from shoal.comparison.study import Study
from shoal.errors import ClaimError, MisuseError, NothingLeftError, OutputError
from shoal.measures.query import boxes_of
from shoal.methods import METHODS, Method
from shoal.model.argument_checks import require_one_region, require_trajectories
from shoal.model.frames import frame_of_rows
from shoal.model.html_table import html_table
from shoal.model.trajectories import Trajectories
from shoal.release_folder.folder import read_release
from shoal.report.facts.ground import Density, comparable_densities
from shoal.report.pages.comparison import RAW_DATA, comparison_page
from shoal.runtime.argument_types import typed
from shoal.runtime.files import local_path, null_for_nan
from shoal.runtime.run import Run
from shoal.runtime.staging import explain_write_errors, write_private
from shoal.units import percent
from shoal.utility import METRICS
from shoal.utility.frontier import (
    LEVELS,
    STRONGEST,
    Point,
    Recommendation,
    at_equal_risk,
    frontier,
    recommend,
)
from shoal.utility.measuring import Better
from shoal.utility.usefulness import NOT_USEFUL, uses_in_words

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of a study.

    Parameters
    ----------
    results
        One JSON document for each release, in the order of the study.
    failed
        The reason, by the label of a setting that gave no release.
    points
        Risk and utility of each release, in the same order.
    better
        Whether the "higher" or the "lower" value of the budget's metric is better.
    recommendation
        The release to take, if any, and why.
    study
        What was compared.
    """

    results: tuple[Mapping[str, Any], ...]
    failed: Mapping[str, str]
    points: tuple[Point, ...]
    better: Better
    recommendation: Recommendation
    study: Study

    @property
    def ranking(self) -> tuple[Point, ...]:
        """By each strongest adversary, the safest first."""
        return tuple(sorted(self.points, key=lambda point: (point.worst_gain, point.label)))

    @property
    def not_played(self) -> tuple[str, ...]:
        """Which attacks could not be played, and why."""
        notes = dict.fromkeys(note for result in self.results for note in result["notes"])
        return tuple(note for note in notes if note != NO_CONTROL)

    def to_dataframe(self) -> "DataFrame":
        """A row for each release, in the order of ``points``; needs pandas."""
        return frame_of_rows(
            [asdict(point) for point in self.points], [field.name for field in fields(Point)]
        )

    def _repr_html_(self) -> str:
        metric = METRICS[self.study.budget.utility]
        best = {point.label for point in frontier(self.points, self.better)}
        rows = [
            (
                point.label,
                "" if math.isnan(point.worst) else f"{percent(point.worst)} ({point.worst_by})",
                "" if math.isnan(point.utility) else f"{point.utility:.4g} {metric.unit}",
                "no other is better in both" if point.label in best else "",
            )
            for point in self.ranking
        ]
        rows += [(label, "no release", "", reason) for label, reason in self.failed.items()]
        header = ("release", "strongest adversary right in", metric.question, "")
        return html_table(
            "Comparison", rows, header=header, notes=(*self.recommendation.reasons, *self.not_played)
        )

    def to_json(self) -> dict[str, Any]:
        """Everything, with frontier and table at equal risk."""
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


def point_of(result: Mapping[str, Any], study: Study) -> Point:
    """By the budget's metric and adversary."""
    budget = study.budget
    played = [*result["attacks"].values(), result["attacks_of_its_claim"]]
    kind = METHODS[result["method"]].about.publishes
    worst = max(
        _on_release(itertools.chain(*played), result),
        key=lambda one: strength(one["name"], gain_of(one), one["worst"], kind),
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
    budget = study.budget
    if budget.attack == STRONGEST:
        risk, low, high = (max(gain(worst[end], worst["baseline"]), 0.0) for end in ("rate", "low", "high"))
        return risk, low, high
    on_release = _on_release(result["attacks"][budget.knowledge], result)
    names = [entry["name"] for entry in on_release]
    if budget.attack not in names:
        raise no_rate(budget.knowledge, budget.attack, names, or_else=STRONGEST)
    rate_names = rates_alike(budget.knowledge, budget.attack)
    # the adversary who wins most with this knowledge
    most = max((e for e in on_release if e["name"] in rate_names), key=lambda entry: entry["rate"])
    return most["rate"], most["low"], most["high"]


def _on_release(entries: Iterable[Mapping[str, Any]], result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The attacks on the release; MisuseError, with the reasons, if none could be played."""
    if played := [entry for entry in entries if entry["target"] == "release"]:
        return played
    raise MisuseError("; ".join(result["notes"]))


def gain_of(entry: Mapping[str, Any]) -> float:
    """An entry's advantage over guessing."""
    return gain(float(entry["rate"]), float(entry["baseline"]))


REPORT_FILE: Final = "comparison.html"
TABLE_FILE: Final = "comparison.json"
_MOST_MAPS: Final = 5
_PIXELS: Final = 90


@typed
def compare(
    original: Trajectories,
    study: Study | Mapping[str, Method],
    output: Path | str,
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
        What to compare, as ``read_study`` reads it; or methods by labels, with default budget and attacks.
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
    >>> calls = shoal.read(shoal.synthesize(n_subjects=60, days=1, seed=1))
    >>> methods = {"crowds of 2": shoal.Glove(k=2), "crowds of 3": shoal.Glove(k=3)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = shoal.compare(calls, methods, Path(folder) / "study")
    >>> [point.label for point in found.points]
    ['crowds of 2', 'crowds of 3']
    """
    require_trajectories(original)
    require_one_region(original.intake.notes)
    if not isinstance(study, Study):
        study = Study.of_methods(study)
    output = local_path(output, "the folder of the study")
    run = run or Run()
    if (
        output.exists()
        and not (output / RUNS_FOLDER).is_dir()
        and (not output.is_dir() or any(output.iterdir()))
    ):
        raise OutputError(f"{output} exists and holds no earlier comparison; choose another --output")
    grid = original.snapped_grid()
    published, control = _split_people(original, study)
    points_of, control_points = (None, None) if given is None else _split_people(given, study)
    if points_of is not None and points_of.ids != published.ids:
        raise MisuseError(
            "the points as given are of other people than the snapped samples; read both from one input"
        )
    with explain_write_errors(output):
        (output / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)
        output.chmod(0o700)
    results: list[Mapping[str, Any]] = []
    points: list[Point] = []
    failed: dict[str, str] = {}
    for done, setting in enumerate(study.settings):
        run.progress("releases", done, len(study.settings))
        try:
            source, outside = published, control
            if setting.method.about.publishes == "points":
                if points_of is None:
                    raise MisuseError(f"{setting.name} publishes points; give the input as given, too")
                source, outside = points_of, control_points
            result = result_of(
                setting, source, outside, published, control, study, output / RUNS_FOLDER, run
            ) | (omission_of(setting, source, published, output / RUNS_FOLDER, run) if study.frontier else {})
            points.append(point_of(result, study))
            results.append(result)
        except (NothingLeftError, ClaimError, MisuseError) as error:
            failed[setting.label] = error.cli_message
    run.progress("releases", len(study.settings), len(study.settings))
    better = METRICS[study.budget.utility].better
    recommendation = recommend(points, study.budget, better, failed.values())
    comparison = Comparison(
        results=tuple(results),
        failed=failed,
        points=tuple(points),
        better=better,
        recommendation=_with_uses(recommendation, results),
        study=study,
    )
    write_private(
        output / TABLE_FILE,
        json.dumps(comparison.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    )
    page = comparison_page(
        comparison.to_json(),
        points,
        metric=METRICS[study.budget.utility],
        people=(published.n_subjects, 0 if control is None else control.n_subjects),
        maps=_maps(published, points, better, results, output),
        grid=grid,
        crs=published.crs,
    )
    write_private(output / REPORT_FILE, page)
    return comparison


def _with_uses(recommended: Recommendation, results: Iterable[Mapping[str, Any]]) -> Recommendation:
    """The recommendation with what its release is good for as the first reason."""
    for result in results:
        if result["label"] == recommended.label:
            answers = {name: use["answer"] for name, use in result["usefulness"]["uses"].items()}
            is_useful = {"yes", "roughly"} & {*answers.values()}
            words = f"{'Usefulness' if is_useful else f'{NOT_USEFUL}; usefulness'}: {uses_in_words(answers)}."
            return replace(recommended, reasons=(words, *recommended.reasons))
    return recommended


def _split_people(original: Trajectories, study: Study) -> tuple[Trajectories, Trajectories | None]:
    people, size = study.held_out(original.n_subjects)
    if people == original.n_subjects:
        return original, None
    order = np.random.default_rng(study.seed).permutation(original.n_subjects)[: people + size]
    if not size:
        return original.keep(order), None
    return original.keep(order[size:]), original.keep(order[:size])


def _maps(
    published: Trajectories,
    points: Sequence[Point],
    better: Better,
    results: Sequence[Mapping[str, Any]],
    output: Path,
) -> dict[str, Density]:
    folders = {result["label"]: output / result["folder"] for result in results}
    best = [point.label for point in frontier(points, better)[:_MOST_MAPS]]
    raw, _, grid = boxes_of(published)
    of = {RAW_DATA: raw} | {label: read_release(folders[label]).as_boxes(grid).boxes for label in best}
    return comparable_densities(of, _PIXELS)
