"""One table: every method on several data sets, and its strongest adversary, before and after hardening.

    python lab/contest/table_of_attacks.py measure [--data NAME ...] [--methods NAME ...]
        [--input NAME=FILE ...] [--streets NAME=NODES,EDGES ...]
        [--attacks NAME ...] [--victims 300] [--cpu-minutes 15] [--csv FILE]
    python lab/contest/table_of_attacks.py join FILE [--csv FILE]
    python lab/contest/table_of_attacks.py write [--csv FILE] [--page FILE]

measure: makes every release of `CELLS`, first those without hardening, from nine tenths of the people, the
others being the control group. It plays every attack of the library that suits a release, and adds to the CSV
what each wins at best. A cell that is in the file already is not run again, so that the same command goes on
after a stop. Each cell is a process of its own, on one thread and with a limit of CPU time; what is found by
then counts, and what is lacking is noted. Where people are at base stations, readers of boxes are played with
the list of all stations, too; where streets are from a file, with their map. For ``series`` the data are cut
in halves of time, which are released with fresh pseudonyms and joined both ways.

join: puts the rates of such a file in place of those of the same releases and adversaries, and says how many
of the old ones were found again.

write: puts the tables into the page, between its marks.
Research seeds: nothing here is for publication.
"""

import argparse
import csv
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

import shoal
from contest import BOUNDS
from shoal.attacks import attack, attacking
from shoal.attacks.adversary import Adversary
from shoal.attacks.attacking import AttackScope
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.place_lists import positions_repeat
from shoal.attacks.rate import Rate
from shoal.attacks.table import ATTACKS
from shoal.errors import ShoalError
from shoal.methods import METHODS, Method
from shoal.methods.kte_hide.kte_hide import Hiders
from shoal.model.claims import Claim
from shoal.model.places import PublicPlaces
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from table_data import DATA, Data, Prepared, prepared, street_files
from table_pages import Row, key_of, read_rows, write

HERE: Final = Path(__file__).parent
CSV_FILE: Final = HERE / "table_of_attacks.csv"
PAGE: Final = HERE.parents[1] / "docs/strongest-attacks.md"
CELL_M: Final = 100.0  # of data as it is read
HELD_OUT: Final = 10  # every tenth person is in no release
GRACE_S: Final = 60  # to end what is being tried once the time is spent
UNFINISHED: Final = "unfinished in its CPU time"
COLUMNS: Final = (
    *("data", "method", "k", "hardening", "claim", "may_name", "holds"),
    *(
        "adversary",
        "attack",
        "question",
        "knowledge",
        "rule",
        "tries",
        "rate",
        "low",
        "high",
        "baseline",
        "note",
    ),
)


Make = Callable[[Data, Prepared, int], Method]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One release of the table. hardening: what was set besides, as on the command line; "" = nothing."""

    method: str
    k: int
    hardening: str
    make: Make


HULL: Final = "grid:500m"
_GRID: Final = f"--hull {HULL}"


def _glove(hull: str = "tight") -> Make:
    return lambda _, __, k: shoal.Glove(k=k, hull=hull)


def _kte_hide(hiders: Hiders = "change", hull: str = "tight") -> Make:
    return lambda d, _, k: shoal.KteHide(k=k, tau_s=d.tau_s, epsilon_s=d.tau_s, hiders=hiders, hull=hull)


def _static(hull: str = "tight") -> Make:
    return lambda d, _, k: shoal.StaticGeneralization(k=k, grid_m=d.coarse_m, slot_s=d.coarse_s, hull=hull)


def _nwa(d: Data, _: Prepared, k: int) -> Method:
    return shoal.Nwa(k=k, delta_m=d.delta_m, pi_s=d.pi_s, step_s=d.step_s)


def _w4m(d: Data, _: Prepared, k: int) -> Method:
    return shoal.W4m(k=k, delta_m=d.delta_m)


def _swap(share: float = 1.0) -> Make:
    return lambda d, _, k: shoal.SwapLocations(
        k=k, time_threshold_s=d.apart_s, space_threshold_m=d.apart_m, publish_share=share
    )


def _reach(d: Data, data: Prepared, k: int) -> Method:
    return shoal.ReachLocations(
        k=k,
        time_threshold_s=d.apart_s,
        space_threshold_m=d.reach_m,
        most_off_street_m=d.off_street_m,
        streets=data.streets,
    )


_ROWS: Final[tuple[tuple[str, tuple[int, ...], str, Make], ...]] = (
    ("glove", (2, 5), "", _glove()),
    ("glove", (2, 5), _GRID, _glove(HULL)),
    ("kte-hide", (2, 5), "", _kte_hide()),
    ("kte-hide", (2, 5), _GRID, _kte_hide(hull=HULL)),
    ("kte-hide", (2, 5), "--hiders stay", _kte_hide("stay")),
    ("static", (2, 5), "", _static()),
    ("static", (2, 5), _GRID, _static(HULL)),
    ("nwa", (2, 5), "", _nwa),
    ("w4m", (2, 5), "", _w4m),
    ("swap-locations", (4,), "", _swap()),
    ("swap-locations", (4,), "--publish-share 0.25", _swap(0.25)),
    ("reach-locations", (4,), "", _reach),
)
CELLS: Final = tuple(
    Cell(method=method, k=k, hardening=hardening, make=make)
    for method, ks, hardening, make in _ROWS
    for k in ks
)
"""Every method at small and usual k, and what hardens it."""


def bound_of(claim: Claim) -> float | None:
    """The greatest chance to name a record that the claim allows, None = it says nothing of that."""
    bound = BOUNDS.get((claim.type, "link"))
    return None if bound is None else bound(claim)


class OutOfTimeError(Exception):
    """The limit of CPU time is reached."""


def out_of_time(*_: object) -> None:
    """What the signal of the limit does."""
    raise OutOfTimeError


def asked_of(release: Release) -> list[tuple[Adversary, str]]:
    """Every adversary that suits a release, in each of its settings."""
    return [
        (row, text)
        for row in ATTACKS.values()
        if row.suits(release)
        for text in row.texts(tuple(dict.fromkeys((*row.default, *row.record))), release.claim)
    ]


def listed(original: Trajectories) -> PublicPlaces | None:
    """The list of places that everybody can have: of base stations; None where people can be anywhere."""
    if not positions_repeat(original):
        return None
    used = np.unique(np.column_stack([original.x, original.y]), axis=0)
    return PublicPlaces(x=(used[:, 0] + 0.5) * CELL_M, y=(used[:, 1] + 0.5) * CELL_M)


def wins(drawn: attacking.PreparedAttack, text: str) -> tuple[Rate, ...]:
    """Every rate of an adversary on the release; none where this data does not allow it."""
    asked = parse_knowledge(text)
    try:
        (evaluation,) = drawn.evaluations.one_by_one(boxes=asked.adversary.takes_boxes)
        return tuple(asked.rates_on(evaluation, drawn.draws()))
    except ShoalError:
        return ()


def joined(original: Trajectories, method: Method, victims: int) -> Iterator[tuple[Adversary, Rate]]:
    """What ``series`` wins between the halves of the data in time, each way."""
    middle = (float(original.t.min()) + float(original.t.max())) / 2
    halves = [_part_of(original, original.t < middle), _part_of(original, original.t >= middle)]
    made = [method.anonymize(half, Randomness.for_research(2), Run(threads=1)) for half in halves]
    for now, before in ((1, 0), (0, 1)):
        found = attack(
            halves[now],
            *made[now],
            knowledge=["series"],
            rng=Randomness.for_research(1),
            tries=victims,
            scope=AttackScope(earlier=made[before], targets=["release"]),
            run=Run(threads=1),
        )
        for rate in found.rates:
            yield ATTACKS["series"], rate


def _part_of(original: Trajectories, kept: np.ndarray) -> Trajectories:
    ids = np.repeat(np.array(original.ids, dtype=np.object_), original.lengths)[kept]
    return Trajectories.from_rows(
        ids.tolist(),
        original.t[kept],
        original.x[kept],
        original.y[kept],
        grid=original.grid,
        crs=original.crs,
    )


def rows_of(
    name: str, cell: Cell, data: Prepared, victims: int, attacks: Collection[str] = ATTACKS
) -> list[Row]:
    """What each of these adversaries wins at best against one release: a row for each of its rates."""
    method = cell.make(DATA[name], data, cell.k)
    claim = method.claim()
    whole = data.snapped if method.about.publishes == "boxes" else data.given
    inside = np.arange(whole.n_subjects) % HELD_OUT > 0
    original, control = whole.keep(np.flatnonzero(inside)), whole.keep(np.flatnonzero(~inside))
    bound = bound_of(claim)
    head = {
        "data": name,
        "method": cell.method,
        "k": str(cell.k),
        "hardening": cell.hardening,
        "claim": claim.type,
        "may_name": "" if bound is None else f"{bound:.6g}",
    }
    found: list[tuple[Adversary, Rate]] = []
    lacking = ["the release"]
    try:
        release, linkage = method.anonymize(original, Randomness.for_research(1), Run(threads=1))
        lacking = ["verification"]
        head["holds"] = str(shoal.verify(original, release, linkage).holds)
        asked = [(row, text) for row, text in asked_of(release) if row.name in attacks]
        lacking = [*(text for _, text in asked), *({"series"} & set(attacks))]
        places = listed(original) if release.kind == "boxes" else None
        streets = data.streets if release.kind == "boxes" and DATA[name].street_m is None else None
        drawn = [
            attacking.prepare(
                original,
                release,
                linkage,
                Randomness.for_research(1),
                tries=victims,
                scope=AttackScope(control=control, targets=["release"], places=known, streets=mapped),
                run=Run(threads=1),
            )
            for known, mapped in dict.fromkeys(((None, None), (places, None), (None, streets)))
        ]
        for row, text in asked:
            found += [(row, rate) for one in drawn for rate in wins(one, text)]
            lacking.remove(text)
        if "series" in attacks:
            found += joined(original, method, victims)
        lacking = []
    except OutOfTimeError:
        pass
    except ShoalError as error:
        if lacking != ["series"]:
            return [{**head, "note": f"no release: {error}"}]
        print(f"{name} {cell.method}: series was not tried: {error}", file=sys.stderr)
        lacking = []
    head["note"] = f"{UNFINISHED}: {', '.join(lacking)}" if lacking else ""
    if not found:
        return [head]
    best: dict[tuple[str, str], tuple[Adversary, Rate]] = {}
    for row, rate in found:
        key = row.name, rate.name
        if key not in best or rate.gain > best[key][1].gain:
            best[key] = row, rate
    return [
        {
            **head,
            "adversary": row.name,
            "attack": rate.name,
            "question": row.answers[rate.name],
            "knowledge": rate.knowledge,
            "rule": rate.rule or "",
            "tries": str(rate.tries),
            **{of: f"{getattr(rate, of):.6g}" for of in ("rate", "low", "high", "baseline")},
        }
        for row, rate in best.values()
    ]


def measure(asked: argparse.Namespace) -> None:
    """Run every cell that is not in the file yet, each in a process of its own."""
    done = {key_of(row) for row in read_rows(asked.csv)}
    for hardened, name in product((False, True), asked.data):
        for number, cell in enumerate(CELLS):
            key = (name, cell.method, str(cell.k), cell.hardening)
            if key in done or bool(cell.hardening) != hardened or cell.method not in asked.methods:
                continue
            rows = in_process(name, number, asked)
            write_rows(asked.csv, [*read_rows(asked.csv), *rows])
            print(f"{name} {cell.method} k = {cell.k} {cell.hardening}: {len(rows)} rows", flush=True)


def join(old: Sequence[Row], new: Sequence[Row]) -> tuple[list[Row], int, int]:
    """The rows with those of new in place, how many rates stayed, and how many were measured by one rule."""
    by_adversary = {(key_of(row), row["adversary"]) for row in new}
    before = {(key_of(row), row["attack"]): row for row in old}
    again = [
        all(row[of] == was[of] for of in ("rate", "baseline"))
        for row in new
        if (was := before.get((key_of(row), row["attack"])))
        and all(row[of] == was[of] for of in ("knowledge", "rule"))
    ]
    rows = [row for row in old if (key_of(row), row["adversary"]) not in by_adversary]
    for row in new:
        own = [at for at, other in enumerate(rows) if key_of(other) == key_of(row)]
        rows.insert(own[-1] + 1 if own else len(rows), row)
    return rows, sum(again), len(again)


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    """The whole file anew."""
    with file.open("w", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def in_process(name: str, number: int, asked: argparse.Namespace) -> list[Row]:
    """The rows of a cell from a process with its own limit of CPU time."""
    seconds = int(asked.cpu_minutes * 60)
    cell = CELLS[number]
    files = [
        text for kind in ("input", "streets") for text in getattr(asked, kind) for text in (f"--{kind}", text)
    ]
    done = subprocess.run(
        [
            *(sys.executable, __file__, "cell", name, str(number), "--victims", str(asked.victims)),
            *("--attacks", *asked.attacks, *files),
        ],
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + GRACE_S)),
    )
    if done.returncode == 0:
        return list(json.loads(done.stdout))
    head = {"data": name, "method": cell.method, "k": str(cell.k), "hardening": cell.hardening}
    killed = done.returncode < 0
    return [{**head, "note": UNFINISHED if killed else f"failed with exit code {done.returncode}"}]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("measure", "join", "write", "cell"))
    options.add_argument("of", nargs="*", help=argparse.SUPPRESS)
    options.add_argument(
        "--data", nargs="+", choices=DATA, default=[name for name in DATA if name != "quick"]
    )
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options.add_argument("--input", action="append", default=[], metavar="NAME=FILE")
    options.add_argument("--streets", action="append", default=[], metavar="NAME=NODES,EDGES")
    options.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    options.add_argument("--victims", type=int, default=300)
    options.add_argument("--cpu-minutes", type=float, default=15.0)
    options.add_argument("--csv", type=Path, default=CSV_FILE)
    options.add_argument("--page", type=Path, default=PAGE)
    asked = options.parse_args()
    inputs = dict(text.split("=", 1) for text in asked.input)
    if asked.what == "write":
        write(asked.csv, asked.page)
    elif asked.what == "cell":
        name, number = asked.of
        signal.signal(signal.SIGXCPU, out_of_time)
        data = prepared(DATA[name], inputs.get(name), street_files(asked.streets, name))
        print(json.dumps(rows_of(name, CELLS[int(number)], data, asked.victims, asked.attacks)))
    elif asked.what == "join":
        rows, found_again, compared = join(read_rows(asked.csv), read_rows(Path(*asked.of)))
        write_rows(asked.csv, rows)
        print(f"{found_again} of {compared} rates were found again")
    else:
        asked.data = [name for name in asked.data if DATA[name].made or name in inputs]
        measure(asked)


if __name__ == "__main__":
    main()
