"""A person's profile: read with errors that say where, applied as by an obvious loop, shown on a page."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect_oracles import contains
from mix_runs import seed
from shoal.errors import InputError, MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.profile import Profile, apply, likeliest_place, read_profile, rule_rows
from shoal_collect.matching.cylinders import Blur, Point, cylinder_for, distance_m
from shoal_collect.matching.subtrajectories import PublicPlaces, fake_trajectory
from shoal_collect.roles.consent import days_and_hours, describe_collector, describe_promise
from shoal_collect.roles.participant import Participant, blur
from shoal_collect.roles.terms import Terms

STATEMENTS = ("controller", "purpose", "recipients", "retention", "contact")
GOOD = """
k = 3
trimming = "strict"

[blur]
radius = "500m"
gap = "30min"

[kinds.home]
drop = true
within = "300m"

[kinds.work]
radius = "2km"

[kinds.hospital]
drop = true

[[places]]
name = "Saint-Antoine"
kind = "hospital"
lat = 48.849
lon = 2.384
within = "400m"

[[places]]
name = "my sister"
lat = 48.86
lon = 2.35
radius = "3 km"
gap = "2h"
"""
MONDAY_MIN = 20_000 * 1440 - 1440 * ((20_000 + 3) % 7)  # a Monday, 0 h UTC
HOME, WORK, HOSPITAL, SISTER = (48.85, 2.40), (48.87, 2.33), (48.849, 2.384), (48.86, 2.35)


def profile_of(text: str, folder: Path) -> Profile:
    file = folder / "profile.toml"
    file.write_text(text, encoding="utf-8")
    return read_profile(file)


def weeks(n_days: int = 10) -> list[Point]:
    """Nights at home, working days at work, one afternoon at the hospital, one evening at the sister's."""
    points = []
    for day in range(n_days):
        begin = MONDAY_MIN + 1440 * day
        points += [Point(*HOME, begin + 60 * hour) for hour in (0, 2, 4, 22)]
        points += [Point(*(WORK if day % 7 < 5 else SISTER), begin + 60 * hour) for hour in (10, 12, 14)]
    points.append(Point(*HOSPITAL, MONDAY_MIN + 18 * 60))
    return sorted(points, key=lambda point: point.t_min)


def test_a_profile_is_read_in_units(tmp_path: Path) -> None:
    profile = profile_of(GOOD, tmp_path)
    assert (profile.k, profile.trimming, profile.blur.radius, profile.blur.gap) == (
        3,
        "strict",
        500,
        30,
    )
    assert (profile.kinds["home"].within, profile.kinds["work"].radius) == (300, 2000)
    hospital, sister = profile.places
    assert profile.rule_at(hospital).drop
    assert (hospital.within, sister.within, sister.radius, sister.gap) == (400, 200, 3000, 120)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("k = 3\n", ""), "k: is missing"),
        (("k = 3", "k = 16"), "k: must be less than 16"),
        (("k = 3", "k = -1"), "k: "),
        (("k = 3", 'k = "many"'), "k: "),
        (("k = 3", "k = 3\nkk = 4"), "kk: is not a setting of a profile"),
        (
            ('"strict"', '"gentle"'),
            "trimming: must be 'verified-pairs' or 'strict'",
        ),
        (
            ('radius = "500m"', "radius = 500"),
            "blur.radius: 500 has no unit; write it as text, for example '500m'",
        ),
        (('radius = "500m"', 'radius = "500"'), "blur.radius: '500' is not a length"),
        (('radius = "500m"', 'radius = "30min"'), "blur.radius: '30min' is not a length"),
        (('radius = "500m"', 'radius = "60m"'), "blur.radius: a circle of less than 75 m cannot hide"),
        (('radius = "500m"', 'radius = "100km"'), "blur.radius: must be at most 65535"),
        (('gap = "30min"', 'gap = "5min"'), "blur.gap: an interval of less than 6 min cannot hide"),
        (('gap = "30min"\n', ""), "blur.gap: is missing"),
        (("lat = 48.849", "lat = 95"), "the place 'Saint-Antoine'.lat: "),
        (("lat = 48.849", "lat = nan"), "the place 'Saint-Antoine'.lat: "),
        (('name = "Saint-Antoine"\n', ""), "place number 1.name: is missing"),
        (('kind = "hospital"', 'kind = "hopsital"'), "has no rule; add [kinds.hopsital]"),
        (
            ("[kinds.home]", "[kinds.hme]"),
            "no place is of the kind 'hme', and only home and work are found automatically",
        ),
        (("[kinds.work]\nradius", "[kinds.work]\nwithin"), "kinds.work says nothing"),
        (
            ('gap = "2h"', 'gap = "2h"\ndrop = true'),
            "the place 'my sister': points that are dropped have no radius or gap",
        ),
        (('radius = "3 km"\ngap = "2h"', ""), "nothing is said for the place 'my sister'"),
        (('"my sister"', '"Saint-Antoine"'), "'Saint-Antoine' also names something else"),
        (('"my sister"', '"home"'), "'home' also names something else"),
        (("[blur]", "[blur"), "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert change[0] in GOOD
    with pytest.raises(InputError) as caught:
        profile_of(GOOD.replace(change[0], change[1], 1), tmp_path)
    assert said in str(caught.value)
    assert "profile.toml" in str(caught.value)
    assert "\n" not in str(caught.value).split("TOML")[0]


def test_a_profile_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_profile(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not valid TOML"):
        read_profile(tmp_path / "binary.toml")


def test_home_and_work_are_found_where_they_are() -> None:
    points = weeks()
    for kind, true in (("home", HOME), ("work", WORK)):
        found = likeliest_place(points, kind, None)  # type: ignore[arg-type]  # one of the two
        assert found is not None
        assert distance_m(*found, *true) < 1
    assert likeliest_place(points, "home", 12.0) is not None  # another clock, another night
    daytime = [point for point in points if 540 <= point.t_min % 1440 < 1000]
    assert likeliest_place(daytime, "home", None) is None
    assert likeliest_place([], "home", None) is None
    chance = random.Random(1)
    noisy = [
        Point(point.lat_deg + chance.gauss(0, 3e-4), point.lon_deg + chance.gauss(0, 3e-4), point.t_min)
        for point in points
    ]
    found = likeliest_place(noisy, "home", None)
    assert found is not None
    assert distance_m(*found, *HOME) < 50


def test_points_are_dropped_and_blurred_by_their_rules_and_counted(tmp_path: Path) -> None:
    points = weeks()
    applied = apply(profile_of(GOOD, tmp_path), points)
    assert applied.dropped == {"home": 40, "Saint-Antoine": 1}
    assert applied.by_rule == {"home": 40, "Saint-Antoine": 1, "work": 24, "my sister": 6}
    assert len(applied.points) == len(applied.blurs) == 30
    assert {(b.radius_m, b.gap_min) for b in applied.blurs} == {(2000, 30), (3000, 120)}
    assert applied.not_found == ()
    for point, one in zip(applied.points, applied.blurs, strict=True):
        assert (one.radius_m == 3000) == ((point.lat_deg, point.lon_deg) == SISTER)
        assert contains(cylinder_for(point, one, bytes(32), 0), point)
    lonely = apply(
        profile_of(GOOD, tmp_path), [point for point in points if 540 <= point.t_min % 1440 < 1000]
    )
    assert lonely.not_found == ("home",)
    assert apply(profile_of(GOOD, tmp_path), []).points == ()


circles = st.tuples(
    st.integers(0, 4), st.integers(1, 900), st.sampled_from(["drop", "75m", "1km", "5min", "3h"])
)


@given(
    st.lists(circles, max_size=5, unique_by=lambda one: one[0]),
    st.lists(st.integers(-2000, 6000), max_size=10),
)
def test_the_strongest_rule_holds(places: list[tuple[int, int, str]], where: list[int]) -> None:
    """On a line: places and points in meters north of the equator."""
    degree_m = 111_195.08
    settings: dict[str, dict[str, object]] = {
        "drop": {"drop": True},
        "5min": {"gap": "7min"},
        "3h": {"gap": "3h"},
    }
    texts = []
    for number, within, what in places:
        said = settings.get(what, {"radius": what})
        texts.append(
            {"name": str(number), "lat": number * 1000 / degree_m, "lon": 0.0, "within": f"{within}m", **said}
        )
    profile = Profile.model_validate({"k": 2, "blur": {"radius": "500m", "gap": "30min"}, "places": texts})
    applied = apply(profile, [Point(meter / degree_m, 0.0, 1000) for meter in where])
    assert len(applied.fates) == len(where)
    for meter, fate in zip(where, applied.fates, strict=True):
        margin = [abs(abs(meter - 1000 * number) - within) for number, within, _ in places]
        if margin and min(margin) < 1:
            continue
        here = [what for number, within, what in places if abs(meter - 1000 * number) < within]
        radii = [{"75m": 75, "1km": 1000}[what] for what in here if what in ("75m", "1km")]
        gaps = [{"5min": 7, "3h": 180}[what] for what in here if what in ("5min", "3h")]
        expected = (
            None if "drop" in here else Blur(radius_m=max(radii, default=500), gap_min=max(gaps, default=30))
        )
        assert fate.blur == expected
        assert len(fate.rules) == len(here)


def test_a_participant_blurs_each_point_by_its_own_rule_and_fakes_look_alike(tmp_path: Path) -> None:
    applied = apply(profile_of(GOOD, tmp_path), weeks())
    her = Participant(
        device_key=seed("device"),
        points=applied.points,
        blur=Blur(radius_m=500, gap_min=30),
        blurs=applied.blurs,
        k=3,
    )
    assert {one.radius_m for one in blur(her, 0)} == {2000, 3000}
    prior = PublicPlaces(
        lat_deg=(48.85, 48.9), lon_deg=(2.3, 2.4), weights=(1, 1), first_min=25_000_000, last_min=25_010_000
    )
    fakes = [point for i in range(20) for point in fake_trajectory(prior, 6, applied.blurs, Chance(seed(i)))]
    share = sum(point.radius_m == 3000 for point in fakes) / len(fakes)
    assert abs(share - 6 / 30) < 0.12  # 120 draws, over 3 standard deviations
    with pytest.raises(MisuseError, match="one for each"):
        Participant(device_key=bytes(32), points=her.points, blur=her.blur, blurs=her.blurs[1:], k=3)


def test_each_rule_says_what_it_met_and_what_it_does(tmp_path: Path) -> None:
    profile = profile_of(GOOD, tmp_path)
    rows = {row.name: row for row in rule_rows(profile, apply(profile, weeks()))}
    assert sum(row.left_out for row in rows.values()) == 41
    assert rows["home"].says == "within 300 m: left out"
    assert rows["elsewhere"].says == "circles of 500 m, intervals of 30 min"
    lonely = apply(profile, [point for point in weeks() if 540 <= point.t_min % 1440 < 1000])
    assert any("not found in your data" in row.says for row in rule_rows(profile, lonely))


def test_one_other_is_a_person_and_two_are_people() -> None:
    assert "1 other person shared" in describe_promise(1, "strict")
    assert "2 other people shared" in describe_promise(2, "strict")


def test_consent_says_who_is_responsible_and_what_is_not_said() -> None:
    said = describe_collector(
        Terms(controller="City of Northport, 1 Harbor St", contact="privacy@northport.example")
    )
    assert said[0] == "Responsible: City of Northport, 1 Harbor St"
    assert said[1] == "Whom to ask, and to whom to object: privacy@northport.example"
    assert said[2].startswith("This collector does not say: purpose; who receives what is released; how long")
    assert describe_collector(Terms())[0].startswith("This collector does not say: responsible; purpose;")
    everything = dict.fromkeys(STATEMENTS, "said")
    assert not any("does not say" in line for line in describe_collector(Terms(**everything)))  # type: ignore[arg-type]
    assert len(describe_collector(Terms(**everything))) == len(STATEMENTS) + 1  # type: ignore[arg-type]
    for steering in ("\x1b[2J", "a\nb", "x" * 301):
        with pytest.raises(ValueError, match="purpose"):
            Terms(purpose=steering)


def test_other_statements_are_other_terms_to_sign() -> None:
    assert Terms(purpose="buses").join_text(b"round") != Terms(purpose="ads").join_text(b"round")


def test_days_and_hours_of_a_trip_are_said() -> None:
    assert days_and_hours(0, 90) == "This trip goes from 1970-01-01 00:00 to 01:30 (UTC)."
    assert days_and_hours(1439, 1441) == "This trip goes from 1970-01-01 23:59 to 1970-01-02 00:01 (UTC)."
