"""What the tracker, members of a class, two releases and membership give: the figures of docs/attacks.md.

    python lab/measure_adversaries.py track --points FILE [--k 2 4 10]
    python lab/measure_adversaries.py classes [--people 300] [--days 4] [--k 2 5] [--kte [--hiders stay]]
    python lab/measure_adversaries.py series [--people 2000] [--days 7] [--k 2 5] [--kte]
    python lab/measure_adversaries.py partner [--points FILE] [--people 300] [--days 2] [--k 2 5]
    python lab/measure_adversaries.py places [--people 1800] [--days 14] [--k 2 5]
    python lab/measure_adversaries.py noisy [--layout city] [--people 1800] [--days 14] [--k 5]
    python lab/measure_adversaries.py membership [--people 300] [--days 4] [--k 2 5]
    python lab/measure_adversaries.py windows [--people 2000] [--days 14] [--k 2] [--apart 180] [--seen 1]

places: how often readers with a list of the stations, and without, name a place that is right; in brackets,
guessing. noisy: the same of those who know four samples of a person with errors. windows: kte-hide against
somebody who followed a person for 30 minutes, and again for 30 minutes so many minutes later; everybody who
was seen so often at least in both. track: FILE holds user_id, t, x, y in meters and seconds, such as the
Oldenburg trajectories; partner swaps them, too. The others make a synthetic city.
Research seeds: nothing here is for publication.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import pyarrow.parquet as pq

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope, prepare
from shoal.attacks.likelihoods import WEIGHTS
from shoal.attacks.tau_knowledge import DrawnWindows, follow, weigh
from shoal.methods import Method
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.units import slots_touched


def show(
    title: str,
    original: Trajectories,
    method: Method,
    knowledge: Sequence[str],
    control: Trajectories | None = None,
) -> None:
    release, linkage = method.anonymize(original, Randomness.for_research(1))
    found = attack(
        original,
        release,
        linkage,
        knowledge=knowledge,
        scope=AttackScope(control=control),
        rng=Randomness.for_research(1),
    )
    print(title, release)
    for rate in found.rates:
        print(f"  {rate}", flush=True)


def city(asked: argparse.Namespace, periods: int = 1) -> Trajectories:
    return shoal.read(
        shoal.synthesize(n_subjects=asked.people, days=asked.days * periods, seed=1, layout=asked.layout)
    )


def track(asked: argparse.Namespace) -> None:
    table = pq.read_table(asked.points, columns=["user_id", "t", "x", "y"])
    original = shoal.read(table, snap=False, crs="local", time_unit="1s")
    for k in asked.k or (2, 4, 10):
        show(f"k = {k}", original, shoal.SwapLocations(k=k), ["track", "track:4", "cluster", "triples:4"])


def classes(asked: argparse.Namespace) -> None:
    for k in asked.k or (2, 5):
        method = shoal.KteHide(k=k, hiders=asked.hiders) if asked.kte else shoal.Glove(k=k)
        show(f"k = {k}", city(asked), method, ["insider", "insider:2", "insider:all", "downcoding"])


def partner(asked: argparse.Namespace) -> None:
    people = shoal.read(
        shoal.synthesize(n_subjects=asked.people, days=asked.days, seed=1, layout="city"), snap=False
    )
    for k in asked.k or (2, 5):
        knowledge = ["partner", "partner:2", "partner:all"]
        for method in (shoal.Nwa(k=k, delta_m=2000, pi_s=4 * 3600), shoal.W4m(k=k, delta_m=2000)):
            show(f"k = {k}", people, method, knowledge)
        if asked.points:
            table = pq.read_table(asked.points, columns=["user_id", "t", "x", "y"])
            show(
                f"k = {k}",
                shoal.read(table, snap=False, crs="local", time_unit="1s"),
                shoal.SwapLocations(k=k),
                knowledge,
            )


def series(asked: argparse.Namespace) -> None:
    whole = city(asked, periods=2)
    ids = np.repeat(np.array(whole.ids), whole.lengths)
    late = whole.t >= whole.t.min() + asked.days * 1440
    weeks = [
        Trajectories.from_rows(
            ids[part].tolist(), whole.t[part], whole.x[part], whole.y[part], grid=whole.grid, crs=whole.crs
        )
        for part in (~late, late)
    ]
    methods: list[Method] = [shoal.Glove(k=k) for k in asked.k or (2, 5)]
    if asked.kte:
        methods.append(shoal.KteHide(k=2, tau_s=1800, epsilon_s=1800))
    for method in methods:
        made = [method.anonymize(week, Randomness.for_research(seed)) for seed, week in enumerate(weeks)]
        for now, before, title in ((1, 0, "named in the week before"), (0, 1, "named in the week after")):
            found = attack(
                weeks[now],
                *made[now],
                knowledge=["series"],
                rng=Randomness.for_research(1),
                tries=whole.n_subjects,
                scope=AttackScope(earlier=made[before], targets=["release"]),
            )
            print(method.about.name, method.parameters()["k"], title, found, flush=True)


PLACES = ("downcoding-place", "insider-place", "home", "her-place", "linkage")


def places(asked: argparse.Namespace) -> None:
    people = city(asked)
    knowledge = ["downcoding", "insider", "insider:all", "home-work", "her-place:4", "points:4"]
    print(f"| k, `--hull`, list | {' | '.join(PLACES)}; insider-place of one and of all others |")
    for k in asked.k or (2, 5):
        for hull in ("tight", "grid:500m", "grid:2km"):
            release, linkage = shoal.Glove(k=k, hull=hull).anonymize(people, Randomness.for_research(1))
            for listed in (stations_of(people), None):
                scope = AttackScope(targets=["release"], places=listed)
                found = attack(
                    people, release, linkage, knowledge=knowledge, scope=scope, rng=Randomness.for_research(1)
                )
                told = [
                    ", ".join(
                        f"{rate.rate:.1%} ({rate.baseline:.1%})" for rate in found.rates if rate.name == name
                    )
                    for name in PLACES
                ]
                print(f"| {k}, `{hull}`, {'yes' if listed else 'no'} | {' | '.join(told)} |", flush=True)


def stations_of(people: Trajectories) -> PublicPlaces:
    x, y = (np.unique(np.column_stack([people.x, people.y]), axis=0).T + 0.5) * people.snapped_grid().cell_m
    return PublicPlaces(x=x, y=y)


def noisy(asked: argparse.Namespace) -> None:
    people = city(asked)
    for k in asked.k or (5,):
        release, linkage = shoal.Glove(k=k).anonymize(people, Randomness.for_research(1))
        for listed in (stations_of(people), None):
            for errors in ("", ":500m:30min", ":2km:2h"):
                found = attack(
                    people,
                    release,
                    linkage,
                    knowledge=[f"noisy:4{errors}" if errors else "points:4", f"her-place:4{errors}"],
                    scope=AttackScope(targets=["release"], places=listed),
                    rng=Randomness.for_research(1),
                )
                print(f"k = {k}, {'the' if listed else 'no'} list{errors}", found, flush=True)


def membership(asked: argparse.Namespace) -> None:
    whole = city(asked)
    order = np.random.default_rng(0).permutation(whole.n_subjects)
    cut = whole.n_subjects * 2 // 3
    inside, outside = whole.keep(np.sort(order[:cut])), whole.keep(np.sort(order[cut:]))
    for k in asked.k or (2, 5):
        show(f"k = {k}", inside, shoal.Glove(k=k), ["membership:1", "membership:4", "membership:10"], outside)


def windows(asked: argparse.Namespace) -> None:
    people = city(asked)
    for k in asked.k or (2,):
        release, linkage = shoal.KteHide(k=k).anonymize(people, Randomness.for_research(7))
        only, won, tries = two_windows(people, release, linkage, 1800.0, asked.apart * 60.0, asked.seen)
        print(f"k = {k}: {tries} people; only the own record fits {only:.1%}")
        for name, rate in won.items():
            print(f"  {name:20} names it in {rate:.1%}")


def two_windows(
    people: Trajectories,
    release: shoal.Release,
    linkage: shoal.Linkage,
    tau_s: float,
    apart_s: float,
    seen: int,
) -> tuple[float, dict[str, float], int]:
    """How often only the own record fits two windows so far apart; what each rule wins; of how many people.

    The first window begins at a random sample of those after which both windows hold ``seen`` samples.
    """
    rng = np.random.default_rng(1)
    prepared = prepare(
        people,
        release,
        linkage,
        Randomness.for_research(1),
        tries=people.n_subjects,
        scope=AttackScope(targets=["release"]),
        run=None,
    )
    (evaluation,) = prepared.evaluations.one_by_one(boxes=True)
    slot_s = people.snapped_grid().slot_s
    tau, apart = slots_touched(tau_s, slot_s), round(apart_s / slot_s)
    tried, begins = [], []
    for place, victim in enumerate(evaluation.victims.tolist()):
        t = people.samples_of(victim)[0]
        soon, begin, end = np.searchsorted(t, [t + tau, t + tau + apart, t + 2 * tau + apart])
        able = np.flatnonzero((soon - np.arange(len(t)) >= seen) & (end - begin >= seen))
        if len(able):
            first = int(t[rng.choice(able)])
            tried.append(place)
            begins.append([first, first + tau + apart])
    drawn = DrawnWindows(
        tried=np.array(tried), begins=np.array(begins), asked=people.offsets[evaluation.victims[tried]]
    )
    found, _ = weigh(evaluation, follow(evaluation, drawn, tau))
    alone = (found.candidates == 1) & (found.own_fits == 1)
    won = {rule.name: float(found.chances[:, number].mean()) for number, rule in enumerate(WEIGHTS)}
    return float(alone.mean()), won, len(tried)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = {
        "track": track,
        "classes": classes,
        "partner": partner,
        "series": series,
        "membership": membership,
        "places": places,
        "noisy": noisy,
        "windows": windows,
    }
    options.add_argument("what", choices=kinds)
    options.add_argument("--points")
    options.add_argument("--k", type=int, nargs="+")
    options.add_argument("--people", type=int)
    options.add_argument("--days", type=int)
    options.add_argument("--layout", default="city")
    options.add_argument("--apart", type=float, default=180.0)
    options.add_argument("--seen", type=int, default=1)
    options.add_argument("--kte", action="store_true")
    options.add_argument("--hiders", choices=("change", "stay"), default="change")
    asked = options.parse_args()
    asked.people = asked.people or {"series": 2000, "windows": 2000, "places": 1800, "noisy": 1800}.get(
        asked.what, 300
    )
    asked.days = asked.days or {"series": 7, "windows": 14, "places": 14, "noisy": 14, "partner": 2}.get(
        asked.what, 4
    )
    kinds[asked.what](asked)


if __name__ == "__main__":
    main()
