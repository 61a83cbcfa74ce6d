"""A release folder holds the whole claim of the method that it names, and what its receiver expects."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from command_line import Shoal
from shoal.errors import InputError
from shoal.model.claims.expected import ExpectedClaim
from shoal.publishing.verifying import claim_of_method, verify_against_raw
from shoal.release_folder.manifest import read_manifest
from shoal.synthetic import write_synthetic


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw data and a release of each payload, with their linkages."""
    folder = tmp_path_factory.mktemp("made")
    write_synthetic(folder / "city.parquet", 24, 1, 3)
    city = shoal.read(folder / "city.parquet")
    rng = shoal.Randomness.from_system()
    shoal.publish(city, shoal.Glove(k=3), folder / "glove", rng=rng, linkage_file=folder / "glove.l", tries=0)
    hide = shoal.KteHide(k=2, tau_s=4 * 3600, epsilon_s=2 * 3600)
    shoal.publish(city, hide, folder / "kte", rng=rng, linkage_file=folder / "kte.l", tries=0)
    as_given = shoal.read(folder / "city.parquet", snap=False)
    w4m = shoal.W4m(k=2, delta_m=500)
    shoal.publish(as_given, w4m, folder / "w4m", rng=rng, linkage_file=folder / "w4m.l", tries=0)
    return folder


@pytest.fixture
def damaged(made: Path, tmp_path: Path) -> Callable[[str, Callable[[dict[str, Any]], object]], Path]:
    def damage(name: str, change: Callable[[dict[str, Any]], object]) -> Path:
        to = tmp_path / name
        to.mkdir()
        for path in (made / name).iterdir():
            (to / path.name).write_bytes(path.read_bytes())
        manifest = json.loads((to / "manifest.json").read_text())
        change(manifest)
        (to / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        return to

    return damage


WEAKENED: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "not truthful": ("glove", lambda m: m["claim"].update(truthful=False), "truthful = no, expected yes"),
    "overlaps allowed": (
        "glove",
        lambda m: m["claim"].update(disjoint_in_time=False),
        "disjoint-in-time = no",
    ),
    "smaller k": ("glove", lambda m: m["claim"].update(k=2), "k = 2, expected at least 3"),
    "another type": (
        "glove",
        lambda m: m.update(claim={"type": "kte-anonymity", "k": 3, "tau_s": 60, "epsilon_s": 60}),
        "it claims kte-anonymity, expected k-anonymity",
    ),
    "smaller tau": ("kte", lambda m: m["claim"].update(tau_s=7200), "tau = 2 h, expected at least 4 h"),
    "delta of 10,000 km": ("w4m", lambda m: m["claim"].update(delta_m=1e7), "expected at most 500 m"),
}


@pytest.mark.parametrize("name", WEAKENED)
def test_a_claim_weaker_than_its_methods_does_not_hold(name: str, made: Path, damaged: Any) -> None:
    """All of these held, and nothing said so."""
    release, change, fault = WEAKENED[name]
    folder = damaged(release, change)
    original = shoal.read(made / "city.parquet", snap=release != "w4m")
    linkage = shoal.read_linkage(made / f"{release}.l")
    assert shoal.verify_folder(original, made / release, linkage).holds
    verdict = shoal.verify_folder(original, folder, linkage)
    assert "weaker-claim" in verdict.kinds
    assert any(fault in finding.message for finding in verdict.findings)


def test_the_claim_of_every_method_follows_from_its_manifest(made: Path) -> None:
    for name in ("glove", "kte", "w4m"):
        manifest = read_manifest(made / name)
        claim = claim_of_method(manifest)
        assert claim is not None
        assert list(ExpectedClaim.of(claim).shortfalls(claim)) == []


UNKNOWN: dict[str, Callable[[dict[str, Any]], object]] = {
    "a method of nobody's": lambda m: m.update(method="magic"),
    "a parameter that it does not have": lambda m: m["parameters"].update(power=9),
    "a parameter of another type": lambda m: m["parameters"].update(k="three"),
    "a parameter out of bounds": lambda m: m["parameters"].update(k=1),
    "a number beyond all bounds": lambda m: m["parameters"].update(k=3, space_cap_m=10**400),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_method_that_is_not_known_leaves_its_claim_unchecked(name: str, made: Path, damaged: Any) -> None:
    folder = damaged("glove", UNKNOWN[name])
    original, linkage = shoal.read(made / "city.parquet"), shoal.read_linkage(made / "glove.l")
    verdict = shoal.verify_folder(original, folder, linkage)
    assert not verdict.holds
    assert any("the whole claim of the method" in part for part in verdict.unchecked)
    told = shoal.verify_folder(original, folder, linkage, expected="k-anonymity:3")
    assert not any("the whole claim" in part for part in told.unchecked)


@pytest.mark.parametrize("way", [(), ("--streamed",)])
def test_the_command_says_what_it_verified_and_fails_on_less(
    way: tuple[str, ...], made: Path, damaged: Any, shoal: Shoal
) -> None:
    against = (
        "verify",
        made / "city.parquet",
        made / "glove",
        "--linkage",
        made / "glove.l",
        *way,
    )
    enough = shoal(*against, "--claim", "k-anonymity:3,truthful,disjoint-in-time")
    assert enough.code == 0, enough.out
    lines = enough.out.splitlines()
    assert lines[0] == "HOLDS: 24 records checked"
    assert (
        "  claim: k-anonymity, k = 3 (k = 3, truthful = yes, disjoint-in-time = yes, hull = tight, "
        "missing-at-most = any share, missing-of-one-at-most = any share, diverse-places = 1)" in lines
    )
    assert "  protected: each distinct value of column 'uid'" in lines
    assert "  cell and slot: 100 m and 1 min" in lines
    assert "  columns read: id from 'uid', time from 't', lat from 'lat', lon from 'lon'" in lines
    assert any(line.startswith("  plane: +proj=laea") for line in lines)
    assert any(line.endswith("read; dropped: none; repaired: none") for line in lines)
    less = shoal(*against, "--claim", "k-anonymity:5")
    assert less.code == 1
    assert "weaker-claim: the release claims less than is expected: k = 3, expected at least 5" in less.out
    facts = json.loads(shoal(*against, "--json").out)
    assert (facts["outcome"], facts["unchecked"], facts["verified"]["expected"]) == ("HOLDS", [], None)
    about = facts["verified"]
    assert about["claim"] == {
        "type": "k-anonymity",
        "k": 3,
        "truthful": True,
        "disjoint_in_time": True,
        "hull": "tight",
        "missing_at_most": 1.0,
        "missing_of_one_at_most": 1.0,
        "diverse_places": 1,
    }
    assert (about["cell_m"], about["slot_s"], about["rows_dropped"]) == (100.0, 60.0, {})
    assert about["columns"] == {"id": "uid", "time": "t", "lat": "lat", "lon": "lon"}
    assert about["rows_read"] > 0
    assert about["crs"].startswith("+proj=laea")
    wrong = shoal(*against, "--claim", "k-anonymity:1")
    assert (wrong.code, "k = 1 hides nobody" in wrong.err) == (2, True)
    weaker = damaged("glove", lambda manifest: manifest["claim"].update(truthful=False))
    silent = shoal("verify", made / "city.parquet", weaker, "--linkage", made / "glove.l", "--quiet", *way)
    assert silent.code == 1
    assert "truthful = no, expected yes" in silent.out


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_wrong_with_raw_is_said_before_what_is_wrong_with_the_release(
    threads: int, made: Path, damaged: Any
) -> None:
    """Both are read at once."""
    run = shoal.Run(threads=threads)
    folder = damaged("glove", lambda manifest: None)
    (folder / "release.parquet").write_bytes(b"PAR1")
    for raw, message in (
        (made / "no such file.parquet", "no such file"),
        (made / "city.parquet", "release.parquet is not a readable"),
    ):
        with pytest.raises(InputError, match=message):
            verify_against_raw(raw, folder, None, run)
