"""One case, its jobs, and their results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shoal.errors import MisuseError, ShoalError
from shoal.io.formats.street_files import read_streets
from shoal.model.release import Release
from shoal.release_folder.folder import read_release
from shoal.report.facts.ground import NO_GROUND, MapGround
from shoal.report.tile_files import read_tiles
from shoal_desk.case import Case, Choices
from shoal_desk.commands import (
    Plan,
    advice_plan,
    class_plan,
    inspect_plan,
    purpose_of,
    record_plan,
    release_plan,
    study_plan,
)
from shoal_desk.jobs import Job, Jobs, start_process
from shoal_desk.work import result_file

STREETS: Final = ("streets-nodes", "streets-edges", "streets-crs")
GROUND: Final = (*STREETS, "tiles")


class Desk:
    """A case, its jobs and release. launch: starts a job's process."""

    def __init__(self, folder: Path, launch: Callable[[Path], None] = start_process) -> None:
        self.folder = folder.absolute()
        self.case = Case(self.folder)
        self.source_before = self.case.choices().source  # of the case that was here when this desk began
        self._jobs = Jobs(self.folder, launch)
        self._ground: dict[tuple[tuple[str, str], ...], MapGround] = {}
        self._releases: dict[tuple[str, int], Release] = {}

    def work(self, choices: Choices) -> "Work":
        """The jobs of these choices."""
        return Work(self.folder, self._jobs, choices)

    def ground(self, choices: Choices) -> MapGround:
        """The maps' ground; none if its files are gone."""
        key = tuple(choices.streets.items())
        if key not in self._ground:
            try:
                self._ground = {key: ground_of(choices.streets)}
            except ShoalError:
                return NO_GROUND
        return self._ground[key]

    def release(self, choices: Choices) -> Release:
        """The written release."""
        folder = Path(choices.output)
        key = (choices.output, folder.stat().st_mtime_ns)
        if key not in self._releases:
            self._releases = {key: read_release(folder)}  # one at a time
        return self._releases[key]


def ground_of(named: Mapping[str, str]) -> MapGround:
    """Read streets and tiles."""
    nodes, edges, crs = (named.get(name) for name in STREETS)
    if nodes is None and (edges or crs):
        raise MisuseError("--streets-edges and --streets-crs need --streets-nodes")
    tiles = named.get("tiles")
    return MapGround(
        streets=None if nodes is None else read_streets(nodes, edges, crs=crs),
        tiles=None if tiles is None else read_tiles(tiles),
    )


@dataclass(frozen=True)
class Work:
    """Jobs of choices; None while choices are missing."""

    folder: Path
    jobs: Jobs
    choices: Choices

    @property
    def data(self) -> Job | None:
        """Inspect the data."""
        return self._job("inspect", inspect_plan(self.choices, unit=False)) if self.choices.source else None

    @property
    def unit(self) -> Job | None:
        """Inspect by the unit of protection."""
        chosen = self.choices.source and self.choices.unit
        return self._job("inspect", inspect_plan(self.choices, unit=True)) if chosen else None

    @property
    def study(self) -> Job | None:
        """Compare methods on a sample."""
        chosen = (
            self.choices.source and self.choices.unit and self.choices.recipients and self.choices.methods
        )
        return self._job("study", study_plan(self.choices, self.folder)) if chosen else None

    @property
    def release(self) -> Job | None:
        """Write, verify and attack the release."""
        choices = self.choices
        if not (choices.source and choices.unit and choices.recipients and choices.method and choices.output):
            return None
        place = self._place_of_release()
        return self.jobs.at(place, release_plan(choices, self.folder, result_file(place, 2)))

    @property
    def shown_class(self) -> Job | None:
        """Attack one class."""
        if self.release is None or not self.choices.shown_class:
            return None
        return self._job("class", class_plan(self.choices))

    @property
    def advice(self) -> Job | None:
        """Trial releases of a sample."""
        chosen = self.choices.source and self.choices.unit
        return self._job("advice", advice_plan(self.choices)) if chosen else None

    @property
    def record(self) -> Job | None:
        """The job that writes the record; None without a release, or before its questions are answered."""
        if self.release is None or not self.choices.record:
            return None
        results = result_file(self._place_of_release(), 2)
        language = self.choices.language or "en"
        return self._job("record", record_plan(self.choices, self.folder, results, language))

    def result(self, job: Job | None, number: int = 0) -> Any:
        """A command's result, or None."""
        return None if job is None else job.result(number)

    def _place_of_release(self) -> Path:
        plan = release_plan(self.choices, self.folder, Path("attacks.json"))
        identity = [[command.arguments() for command in plan.commands], purpose_of(self.choices)]
        return self.jobs.place("release", self.choices.source, identity)

    def _job(self, kind: str, plan: Plan) -> Job:
        identity = [[command.arguments() for command in plan.commands], sorted(plan.files.values())]
        return self.jobs.at(self.jobs.place(kind, self.choices.source, identity), plan)
