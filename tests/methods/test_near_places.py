"""Boxes near sensitive places: which hold too few kinds, by method, check and oracle; what crowds share."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import shoal
from naive_release import small_city
from shoal.attacks import attack
from shoal.attacks.shared_places import places_near
from shoal.errors import MisuseError
from shoal.measures.near_places import Kinds
from shoal.model.claims import KAnonymity
from shoal.model.places import PublicPlaces
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.boxes.k_anonymity import boxes_near_few_kinds
from shoal.verification.boxes.records import classify_records

pytestmark = pytest.mark.kernels
KINDS = ("hospital", "prison", "temple")


def with_sensitive(original: Trajectories, *, seed: int, listed: bool, most_m: float = 900) -> Trajectories:
    """Eight sensitive places of three kinds among the people; listed: and a public list, twice as many."""
    draw = np.random.default_rng(seed)
    x, y = draw.uniform(-6000, 6000, (2, 8))
    rows = draw.choice(original.n_samples, 4, replace=False)  # where people are, too
    x[:4], y[:4] = (100 * original.x[rows] + 30.0), (100 * original.y[rows] + 99.0)
    radii = np.append(draw.uniform(0, most_m, 7), np.nan)
    sensitive = PublicPlaces(
        x=x, y=y, kinds=tuple(draw.choice(KINDS, 8)), radius_m=radii, sha256=f"{seed:064d}"
    )
    used = np.unique(np.column_stack([original.x, original.y]), axis=0)
    cells = np.unique(np.concatenate([used, draw.integers(-60, 60, used.shape)]), axis=0)
    places = PublicPlaces(x=100.0 * cells[:, 0] + 50, y=100.0 * cells[:, 1] + 50) if listed else None
    return replace(
        original,
        sensitive=sensitive,
        places=places,
        intake=replace(
            original.intake, reading=replace(original.intake.reading, sensitive_sha256=sensitive.sha256)
        ),
    )


def lacks_kinds(people: Trajectories, box: tuple[int, ...], least: int) -> bool:
    """By the definition, cell by cell."""
    places, public = people.sensitive, people.places
    assert places is not None
    assert places.kinds is not None
    listed = None if public is None else set(zip(public.x // 100, public.y // 100, strict=True))
    kinds, ordinary = set(), False
    for x in range(box[2], box[4]):
        for y in range(box[3], box[5]):
            if listed is not None and (x, y) not in listed:
                continue
            here = set()
            rows = zip(places.kinds, places.x, places.y, places.radii_m, strict=True)
            for kind, at_x, at_y, radius in rows:
                nearest = min(max(at_x, 100 * x), 100 * x + 100), min(max(at_y, 100 * y), 100 * y + 100)
                if (nearest[0] - at_x) ** 2 + (nearest[1] - at_y) ** 2 <= radius**2:
                    here.add(kind)
            kinds |= here
            ordinary |= not here
    return bool(kinds) and not (ordinary and len(kinds) + 1 >= least)


def by_check(people: Trajectories, release: Release, least: int) -> set[str | None]:
    """The records that the check finds at fault."""
    claim = KAnonymity(k=2, diverse_places=least)
    found = boxes_near_few_kinds(claim, people, classify_records(release), release)
    return {finding.trajectory_id for finding in found if finding.kind == "too-few-kinds"}


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("least", [2, 3])
def test_method_and_check_agree_with_the_definition(least: int, listed: bool) -> None:
    at_fault = 0
    release, _ = shoal.Glove(k=2).anonymize(small_city(), Randomness.for_research(1))
    for seed in range(3):
        people = with_sensitive(small_city(seed=seed), seed=seed, listed=listed)
        draw = np.random.default_rng(seed)
        low = draw.integers(-60, 58, (40, 2))
        assert people.sensitive is not None
        low[:16] = np.column_stack([people.sensitive.x, people.sensitive.y])[np.arange(16) % 8] // 100 - 1
        high = low + draw.integers(1, 9, (40, 2))
        t = np.arange(40)
        boxes = Boxes(
            t_start=t, t_end=t + 1, x_min=low[:, 0], y_min=low[:, 1], x_max=high[:, 0], y_max=high[:, 1]
        )
        rows = np.stack(boxes.columns(), axis=1).tolist()
        expected = [lacks_kinds(people, tuple(box), least) for box in rows]
        assert Kinds.around(people).too_few(boxes, least).tolist() == expected
        names = tuple(f"r{number:02d}" for number in range(40))
        alone = replace(release, trajectory_ids=names, offsets=np.arange(41), payload=boxes)
        assert by_check(people, alone, least) == {names[at] for at in np.flatnonzero(expected)}
        at_fault += sum(expected)
    assert at_fault > 10


@pytest.mark.jit_only
@pytest.mark.parametrize(
    ("hull", "refine", "listed"),
    [("tight", False, False), ("tight", True, True), ("grid:500m", True, False), ("outward:3", False, True)],
)
def test_released_boxes_hold_other_places(hull: str, refine: bool, listed: bool) -> None:
    people = with_sensitive(small_city(40), seed=3, listed=listed, most_m=4000)
    release, linkage = shoal.Glove(k=2, refine=refine, hull=hull).anonymize(
        people, Randomness.for_research(1)
    )
    assert isinstance(release.claim, KAnonymity)
    false = replace(release, claim=replace(release.claim, diverse_places=2))
    assert shoal.verify(people, false, linkage).kinds == {"too-few-kinds"}, "nothing is to be mended here"
    method = shoal.Glove(k=2, refine=refine, hull=hull, diverse_places=2)
    mended, linkage = method.anonymize(people, Randomness.for_research(1))
    verdict = shoal.verify(people, mended, linkage)
    assert verdict.holds, verdict.findings
    assert "near listed sensitive places" in mended.claim.promise
    assert mended.n_samples < release.n_samples


def _other_list(people: Trajectories, release: Release, linkage: Linkage) -> tuple[Trajectories, Release]:
    del linkage
    assert people.sensitive is not None
    return replace(people, sensitive=replace(people.sensitive, sha256="another")), release


def _place_added(people: Trajectories, release: Release, linkage: Linkage) -> tuple[Trajectories, Release]:
    """A sensitive place in the middle of the smallest box, which the list of the release lacked."""
    del linkage
    boxes, places = release.boxes, people.sensitive
    assert places is not None
    row = int(np.argmin((boxes.x_max - boxes.x_min) + (boxes.y_max - boxes.y_min)))
    x, y = (
        50.0 * int(low[row] + high[row])
        for low, high in ((boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max))
    )
    added = replace(
        places,
        x=np.append(places.x, x),
        y=np.append(places.y, y),
        kinds=(*(places.kinds or ()), "hospital"),
        radius_m=np.append(places.radii_m, 3000.0),
    )
    return replace(people, sensitive=added), release


@pytest.mark.jit_only
@pytest.mark.parametrize(("damage", "kind"), [(_other_list, "other-places"), (_place_added, "too-few-kinds")])
def test_broken_releases_are_refused(
    damage: Callable[[Trajectories, Release, Linkage], tuple[Trajectories, Release]], kind: str
) -> None:
    people = with_sensitive(small_city(40), seed=3, listed=False)
    release, linkage = shoal.Glove(k=2, diverse_places=2).anonymize(people, Randomness.for_research(1))
    broken, release = damage(people, release, linkage)
    assert shoal.verify(broken, release, linkage).kinds == {kind}
    assert kind in shoal.verify(broken, release).kinds  # and without the linkage
    without = shoal.verify(replace(people, sensitive=None), release, linkage)
    assert (without.holds, without.kinds) == (False, frozenset())
    assert [part for part in without.unchecked if "needs the list of sensitive places" in part]
    with pytest.raises(MisuseError, match="read the data with sensitive FILE"):
        shoal.Glove(diverse_places=2).anonymize(replace(people, sensitive=None), Randomness.from_system())


def test_a_crowd_near_one_place_alone_is_left_out_and_counted() -> None:
    people = small_city(12)
    assert people.grid is not None
    everywhere = PublicPlaces(x=np.zeros(1), y=np.zeros(1), kinds=("base",), radius_m=np.array([20_000.0]))
    with pytest.raises(shoal.errors.NothingLeftError):
        shoal.Glove(k=2, diverse_places=2).anonymize(
            replace(people, sensitive=everywhere), Randomness.from_system()
        )


@pytest.mark.jit_only
def test_what_a_crowd_shares() -> None:
    people = with_sensitive(small_city(60), seed=5, listed=False, most_m=4000)
    release, linkage = shoal.Glove(k=3).anonymize(people, Randomness.for_research(1))
    near = places_near(people)
    for person, places in enumerate(near):
        _t, x, y = people.samples_of(person)
        of_cells = {
            (row)
            for cell in zip(x.tolist(), y.tolist(), strict=True)
            for row in range(8)
            if lacks_kinds(
                replace(people, sensitive=_one(people, row)), (0, 1, *cell, cell[0] + 1, cell[1] + 1), 2
            )
        }
        assert places == of_cells
    result = attack(people, release, linkage, knowledge=["shared-place"], rng=Randomness.for_research(2))
    rates = {rate.target: rate for rate in result.rates}
    names = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    boxes_of = {
        uid: tuple(
            column.tobytes() for column in release.record(release.trajectory_ids.index(name)).columns()
        )
        for uid, name in names.items()
    }
    shared = 0
    for uid in names:
        crowd = [near[people.ids.index(other)] for other in names if boxes_of[other] == boxes_of[uid]]
        shared += bool(frozenset.intersection(*crowd))
    assert rates["release"].successes == shared
    assert rates["raw"].successes == sum(map(bool, near))
    assert 0 < rates["release"].baseline < rates["raw"].baseline


def _one(people: Trajectories, row: int) -> PublicPlaces:
    places = people.sensitive
    assert places is not None
    return PublicPlaces(x=places.x[[row]], y=places.y[[row]], kinds=("one",), radius_m=places.radii_m[[row]])
