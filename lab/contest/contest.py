"""The standing contest: every attacker against a release of every method, judged by sealed truth.

    python lab/contest/contest.py make FOLDER [--people 150] [--days 3] [--victims 100] [--known 4] [--k 5]
    python lab/contest/contest.py play FOLDER [--attackers DIR_OR_FILES ...]

make: a synthetic city, and for every method a folder FOLDER/open/METHOD with the release as it would be
published and ``known.json``: of each victim some true points, in seconds and meters of the release's plane.
Who was who lies in FOLDER/sealed, and its digest in FOLDER/open/seal.txt, so that nobody changes it later.

play: an attacker is a Python file with one function for each task that it takes, or both:

    def link(folder, known):    # the trajectory_id of each victim
    def reveal(folder, known):  # (t, x, y) of each victim: where else, and when, the person was

folder: a release folder and nothing else. known: a list with the points [[t, x, y], ...] of each victim. The
files in lab/contest/attackers enter in the same way, and so does every attack of the library that names
records from known points (`library_attackers.py`), each of its rules by itself. A link is right when the
record is the person's. A revealed point is right when the person was there to the meter and second, or in
that cell and slot, and it was not known. The table shows rates with 95 % intervals. The exit code is 1 when a
rate is above the bound of the release, with a chance of less than one in ten thousand that it is luck.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import shoal
from library_attackers import link_answers
from shoal.attacks import wilson
from shoal.errors import ShoalError
from shoal.methods import METHODS, Method
from shoal.model.linkage_checks import match_records
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.publishing.publish import publish
from shoal.release_folder.folder import read_release
from shoal.runtime.randomness import Randomness

ATTACKERS: Final = Path(__file__).parent / "attackers"
TASKS: Final = ("link", "reveal")
LUCK: Final = 1e-4
BOUNDS: Final[Mapping[tuple[str, str], Callable[[Any], float | None]]] = {
    ("k-anonymity", "link"): lambda claim: 1 / claim.k,
    ("kte-anonymity", "link"): lambda claim: 1 / claim.k if claim.hiders_stay else None,
    ("trajectory-p-privacy", "link"): lambda claim: 1 / claim.k,
    ("location-p-privacy", "reveal"): lambda claim: 1 / claim.k,
}
"""What claims promise of a task. The others promise nothing of it: kte-hide of one interval alone, unless
hiders stay, and NWA and W4M nothing about who is who."""

Points = list[list[float]]


@dataclass(frozen=True, kw_only=True)
class Score:
    """One attacker at one task on one release. bound: what the claim allows, None = nothing is promised."""

    method: str
    attacker: str
    task: str
    right: int
    tries: int
    bound: float | None

    @property
    def rate(self) -> float:
        """Right answers per try."""
        return self.right / self.tries

    @property
    def breaks(self) -> bool:
        """Whether the rate is above the bound by more than luck explains."""
        return self.bound is not None and chance_of(self.right, self.tries, self.bound) < LUCK

    def line(self) -> str:
        """A row of the table."""
        low, high = wilson(self.right, self.tries)
        bound = "nothing promised" if self.bound is None else f"at most {self.bound:.1%}"
        broken = "  BROKEN" if self.breaks else ""
        return (
            f"{self.method:16} {self.attacker:48} {self.task:7} {self.rate:6.1%} "
            f"({low:.1%} to {high:.1%})  {bound}{broken}"
        )


def chance_of(right: int, tries: int, bound: float) -> float:
    """The chance of at least so many right answers when each is right with the chance ``bound``."""
    terms = (
        math.lgamma(tries + 1)
        - math.lgamma(n + 1)
        - math.lgamma(tries - n + 1)
        + n * math.log(bound)
        + (tries - n) * math.log1p(-bound)
        for n in range(right, tries + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in terms))


def methods(k: int, original: Trajectories) -> dict[str, Method]:
    """One setting of every method of the table, for a city of this extent."""
    hour = 3600.0
    return {
        "glove": shoal.Glove(k=k),
        "kte-hide": shoal.KteHide(k=2, tau_s=2 * hour, epsilon_s=2 * hour),
        "nwa": shoal.Nwa(k=k, delta_m=2000.0),
        "w4m": shoal.W4m(k=k, delta_m=2000.0),
        "static": shoal.StaticGeneralization(k=k, grid_m=20_000.0, slot_s=24 * hour),
        "swap-locations": shoal.SwapLocations(k=k, time_threshold_s=4 * hour),
        "reach-locations": shoal.ReachLocations(
            k=k,
            time_threshold_s=4 * hour,
            space_threshold_m=20_000.0,
            most_off_street_m=1_000.0,
            streets=grid_of_streets(original),
        ),
    }


def grid_of_streets(original: Trajectories, step_m: float = 1000.0) -> StreetGraph:
    """Streets every kilometer, or as far apart as is said, over the data."""
    xs, ys = (
        np.arange(column.min() - step_m / 2, column.max() + 1.5 * step_m, step_m)
        for column in (original.x, original.y)
    )
    x, y = (column.ravel() for column in np.meshgrid(xs, ys, indexing="ij"))
    node = np.arange(len(x)).reshape(len(xs), len(ys))
    u = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel()])
    v = np.concatenate([node[1:].ravel(), node[:, 1:].ravel()])
    return StreetGraph.straight(x, y, u, v)


def make(
    folder: Path,
    *,
    people: int,
    days: int,
    victims: int,
    known: int,
    k: int,
    seed: int,
    only: Sequence[str] = (),
) -> list[str]:
    """Write open and sealed folders; the methods that gave no release, with the reason."""
    table = shoal.synthesize(n_subjects=people, days=days, seed=seed, layout="city")
    given = shoal.read(table, snap=False)
    snapped = shoal.read(table, working_crs=given.crs)
    failed = []
    for name, method in methods(k, given).items():
        if only and name not in only:
            continue
        original = snapped if METHODS[name].about.publishes == "boxes" else given
        place, sealed = folder / "open" / name, folder / "sealed"
        sealed.mkdir(parents=True, exist_ok=True)
        place.mkdir(parents=True)
        try:
            made = publish(original, method, place / "release", rng=Randomness.from_system(), tries=0)
        except ShoalError as error:
            failed.append(f"{name}: {error}")
            shutil.rmtree(place)
            continue
        records = match_records(original, made.release, made.linkage)
        draw = np.random.default_rng()
        able = np.flatnonzero((records >= 0) & (original.lengths > known))
        chosen = draw.permutation(able)[:victims]
        points = [points_of(original, int(one)) for one in chosen]
        drawn = [draw.permutation(len(own)) for own in points]
        shown = [[own[i] for i in order[:known]] for own, order in zip(points, drawn, strict=True)]
        rest = [[own[i] for i in order[known:]] for own, order in zip(points, drawn, strict=True)]
        (place / "known.json").write_text(json.dumps(shown))
        names = [made.release.trajectory_ids[record] for record in records[chosen].tolist()]
        (sealed / f"{name}.json").write_text(json.dumps({"records": names, "points": rest}))
    (folder / "open" / "seal.txt").write_text(seal_of(folder))
    return failed


def points_of(original: Trajectories, subject: int) -> Points:
    """All samples of a person in seconds and meters; of a snapped one the first moment and lower corner."""
    t, x, y = original.samples_of(subject)
    slot_s, cell_m = (1.0, 1.0) if original.grid is None else (original.grid.slot_s, original.grid.cell_m)
    return list(np.column_stack([t * slot_s, x * cell_m, y * cell_m]).astype(float).tolist())


def seal_of(folder: Path) -> str:
    """A digest of everything that is sealed."""
    digest = hashlib.sha256()
    for file in sorted((folder / "sealed").glob("*.json")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def play(folder: Path, attackers: Sequence[Path], *, library: bool = True) -> list[Score]:
    """Every attacker at every task that it takes, on every release; raises ValueError for a broken seal.

    library: whether the attacks of the table of attacks enter, too.
    """
    if (folder / "open" / "seal.txt").read_text() != seal_of(folder):
        raise ValueError("the sealed truth is not that of the open releases; make the contest again")
    scores = []
    for place in sorted(path for path in (folder / "open").iterdir() if path.is_dir()):
        known = json.loads((place / "known.json").read_text())
        truth = json.loads((folder / "sealed" / f"{place.name}.json").read_text())
        release = read_release(place / "release")
        size = (1.0, 1.0) if release.grid is None else (release.grid.slot_s, release.grid.cell_m)
        entered = [
            (file.stem, task, getattr(attacker, task)(place / "release", known))
            for file in attackers
            for attacker in [loaded(file)]
            for task in TASKS
            if hasattr(attacker, task)
        ]
        if library:
            entered += [(name, "link", answers) for name, answers in link_answers(place / "release", known)]
        for name, task, answers in entered:
            if len(answers) != len(known):
                raise ValueError(f"{name} gave {len(answers)} answers for {len(known)} victims")
            bound = BOUNDS.get((release.claim.type, task))
            scores.append(
                Score(
                    method=place.name,
                    attacker=name,
                    task=task,
                    right=sum(right(task, answers, truth, size)),
                    tries=len(known),
                    bound=None if bound is None else bound(release.claim),
                )
            )
    return scores


def right(task: str, answers: Sequence[Any], truth: Any, size: tuple[float, float]) -> list[bool]:
    """Whether each answer is right. size: seconds and meters within which points count as the same."""
    if task == "link":
        return [answer == name for answer, name in zip(answers, truth["records"], strict=True)]
    scale = np.array([size[0], size[1], size[1]])
    return [
        answer is not None
        and bool((np.floor(np.array(answer) / scale) == np.floor(np.array(own) / scale)).all(axis=1).any())
        for answer, own in zip(answers, truth["points"], strict=True)
    ]


def loaded(file: Path) -> Any:
    """An attacker's file as a module."""
    spec = importlib.util.spec_from_file_location(f"attacker_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("make", "play"))
    options.add_argument("folder", type=Path)
    options.add_argument("--people", type=int, default=150)
    options.add_argument("--days", type=int, default=3)
    options.add_argument("--victims", type=int, default=100)
    options.add_argument("--known", type=int, default=4)
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--attackers", type=Path, nargs="+", default=[])
    asked = options.parse_args()
    if asked.what == "make":
        numbers = {name: getattr(asked, name) for name in ("people", "days", "victims", "known", "k", "seed")}
        for reason in make(asked.folder, **numbers):
            print(f"no release: {reason}")
        return 0
    paths = [ATTACKERS, *asked.attackers]
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    scores = play(asked.folder, list(dict.fromkeys(file.resolve() for file in files)))
    for score in sorted(scores, key=lambda one: (one.method, one.task, -one.rate)):
        print(score.line())
    return int(any(score.breaks for score in scores))


if __name__ == "__main__":
    raise SystemExit(main())
