"""What a profile refuses, it refuses whatever she is asked: the bounds on terms, and on what is repeated."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Shoal
from service_town import PLACES, TERMS, WAY, identity_of, running, seed
from shoal.errors import InputError
from shoal_collect.device.profile import Profile
from shoal_collect.device.proposal import most_points, repeated_share, require_within_bounds
from shoal_collect.matching.cylinders import Blur, Cylinder, cylinder_for
from shoal_collect.roles.terms import Terms
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.storage.database import AUTHORITY, Database

BLUR = {"radius": "500m", "gap": "30min"}
POINTS = tuple(sorted(cylinder_for(one, Blur(radius_m=500, gap_min=30), seed("key"), 0) for one in WAY))


def profile(k: int = 2, **bounds: Any) -> Profile:
    return Profile.model_validate({"k": k, "blur": BLUR, "bounds": bounds})


@pytest.mark.parametrize(
    ("wishes", "terms", "said"),
    [
        (profile(), {"theta_m": 5001.0}, "5001 m apart count as shared, your profile allows 5000 m"),
        (profile(), {"theta_min": 181.0}, "181 min apart count as shared, your profile allows 180 min"),
        (profile(theta_space="800m"), {}, "1000 m apart count as shared, your profile allows 800 m"),
        (profile(group=4), {"group_size": 4}, "groups of 4 at this collector go on with 3 when others fall"),
        (profile(k=2), {"least_k": 3}, "this collector takes k = 3 or more"),
        (Profile.model_validate({"k": 0, "blur": BLUR, "bounds": {"k": 1}}), {}, "asks for at least 1"),
    ],
)  # fmt: skip
def test_terms_beyond_a_bound_are_refused(wishes: Profile, terms: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        require_within_bounds(wishes, Terms(**terms), POINTS, [])


def test_circles_that_come_back_are_refused_beyond_their_share() -> None:
    later = tuple(replace(point, start_min=point.start_min + 9000) for point in POINTS)
    elsewhere = Cylinder(0, 30, 0, 0, 500)
    assert repeated_share(POINTS, []) == 0
    assert repeated_share([*later, elsewhere], [POINTS[:1], POINTS[1:]]) == len(WAY) / (len(WAY) + 1)
    require_within_bounds(profile(repeated=1.0), Terms(), later, [POINTS])
    require_within_bounds(profile(), Terms(), later, [POINTS[:1]])
    with pytest.raises(InputError, match="100 % of these circles stand in releases of yours"):
        require_within_bounds(profile(), Terms(), later, [POINTS])


def test_every_reason_is_told_at_once() -> None:
    with pytest.raises(InputError) as refused:
        require_within_bounds(profile(group=9, repeated=0.0), Terms(theta_m=9e6), POINTS, [POINTS])
    assert all(one in str(refused.value) for one in ("bounds.theta_space", "bounds.group", "bounds.repeated"))


def test_a_trip_is_thinned_until_all_its_pairs_can_be_asked_about() -> None:
    assert most_points(profile(), Terms()) == 6  # 15 pairs
    assert most_points(profile(k=0), Terms()) == 28
    partly = profile().model_copy(update={"trimming": "strict"})
    assert most_points(partly, Terms()) == 28


def test_consent_in_advance_changes_nothing(shoal: Shoal, tmp_path: Path) -> None:
    rows = [f"me,{p.lat_deg},{p.lon_deg},{round(p.t_min * 60)}" for p in WAY]
    (tmp_path / "mine.csv").write_text("\n".join(["uid,lat,lon,t", *rows]) + "\n")
    (tmp_path / "profile.toml").write_text(
        "k = 0\n[blur]\nradius = '500m'\ngap = '30min'\n[bounds]\ngroup = 9\n"
    )
    with Database() as database, Database(None, AUTHORITY) as claims:
        book = ClaimBook(claims, seed("authority"), frozenset({identity_of(seed("server"))}))
        app = collector_application(
            database,
            seed("server"),
            TERMS,
            CollectorSettings(PLACES, round_size=3, join_s=300),
            seed,
            quiet=True,
        )
        with running(app) as url, running(authority_application(book, quiet=True)) as lawful:
            done = shoal(
                "collect", "join", "--server", url, "--authority", lawful, "--data", tmp_path / "mine.csv",
                "--profile", tmp_path / "profile.toml", "--state", tmp_path / "state", "--yes",
                "--max-gap", "10h",
            )  # fmt: skip
        assert (done.code, "nothing was sent: groups of 3" in done.err) == (2, True), done.err
        assert database.rows("SELECT COUNT(*) FROM ticket") == [(0,)]
