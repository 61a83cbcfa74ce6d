"""Zones in outer zones: noise of their own, one bound for both, and estimates that agree by least squares."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Shoal
from plain_table import Plan, true_noise
from shoal.errors import InputError, MisuseError
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal_tables import Privacy, Rules, grid_zones, hours_of
from shoal_tables.attacks.attacking import attack_table, play
from shoal_tables.definition.manifest import EXPORTED, Kind
from shoal_tables.making import tabulate as making
from shoal_tables.making.calibration import add_noise, promise_of, stand_in
from shoal_tables.making.contributions import tally
from shoal_tables.making.folder import export_table
from shoal_tables.making.promise import consistent, estimate
from shoal_tables.making.tabulate import require_reading
from shoal_tables.utility.measuring import measure_table
from shoal_tables.verification.checking import verify_table
from shoal_tables.verification.files import agreeing
from shoal_tables.verification.noise import NoisyCells, shared_findings
from shoal_tables.verification.statements import guessing_share
from table_cases import AREA, FIRST, LAST, city, make, nested, nested_in, polygons_of, rules_of, weighted

KINDS: tuple[Kind, ...] = ("flows", "presence", "dwell", "homes")


# --- least squares ------------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> tuple[Integers, int, int]:
    """The outer cell of each cell, -1 for none, each with at least one; how many, and a seed of numbers."""
    n_outer = draw(st.integers(1, 5))
    further = draw(st.lists(st.integers(-1, n_outer - 1), max_size=20))
    order = draw(st.permutations([*range(n_outer), *further]))
    return np.array(order, dtype=np.int64), n_outer, draw(st.integers(0, 2**32))


@pytest.mark.parametrize("fit", [consistent, lambda o, w, inner, outer: agreeing(inner, outer, o, w)])
@pytest.mark.parametrize("plain", [True, False])
@given(tree=trees())
def test_the_closed_form_solves_the_normal_equations(
    fit: Callable[..., tuple[Floats, Floats]], plain: bool, tree: tuple[Integers, int, int]
) -> None:
    """The oracle has a row for each measured number, and inverts the whole matrix."""
    outer_of, n_outer, seed = tree
    rng, n = np.random.default_rng(seed), len(outer_of)
    measured, further = rng.normal(0, 100, n), rng.normal(0, 300, n_outer)
    variances, of_outer = rng.uniform(0.01, 3, n), rng.uniform(0.01, 30, n_outer)
    weights = np.ones(n) if plain else rng.uniform(0.1, 5, n)
    sums = np.equal.outer(np.arange(n_outer), outer_of).astype(float)
    rows, precision = np.vstack([np.eye(n), sums]), np.diag(1 / np.append(variances, of_outer))
    covariance = np.linalg.inv(rows.T @ precision @ rows)
    solution = covariance @ rows.T @ precision @ np.append(measured, further)
    of_zones = np.eye(n) if fit is consistent else np.diag(weights)  # the maker multiplies zones later
    wanted = np.vstack([of_zones, sums * weights])
    numbers, errors = fit(outer_of, weights, (measured, variances), (further, of_outer))
    np.testing.assert_allclose(numbers, wanted @ solution, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(errors, np.diag(wanted @ covariance @ wanted.T), rtol=1e-7)


def test_numbers_that_are_certain_stay() -> None:
    zero, outer_of = np.zeros(3), np.array([0, 0, -1])
    inner, outer = (np.array([1.0, 2.0, 5.0]), zero), (np.array([3.0]), zero[:1])
    for numbers, errors in (
        consistent(outer_of, np.ones(3), inner, outer),
        agreeing(inner, outer, outer_of, np.ones(3)),
    ):
        assert numbers.tolist() == [1, 2, 5, 3]
        assert errors.tolist() == [0, 0, 0, 0]


# --- tables -------------------------------------------------------------------------------------------------


def numbers(table: pa.Table, name: str) -> Floats:
    return np.array(table[name].cast(pa.float64()).fill_null(np.nan).to_numpy())


def sums_in(rules: Rules, values: Floats) -> Floats:
    """The sums over cells in each cell of outer zones, by names."""
    assert rules.zones.parents is not None
    assert rules.outer is not None
    parents = [rules.outer.zones.names[place] for place in rules.zones.parents]
    parent_of = dict(zip(rules.zones.names, parents, strict=True))

    def cells(one: Rules, rename: dict[str, str]) -> list[tuple[str, ...]]:
        labels, codes = one.labels(), one.codes()
        texts = ([labels[name][code] for code in codes[name].tolist()] for name in codes)
        return [tuple(rename.get(part, part) for part in cell) for cell in zip(*texts, strict=True)]

    found = dict.fromkeys(cells(rules.outer, {}), 0.0)
    for cell, value in zip(cells(rules, parent_of), values.tolist(), strict=True):
        if cell in found:
            found[cell] += value
    return np.array(list(found.values()))


CASES: dict[str, Callable[[Path], Rules]] = {
    **{kind: (lambda folder, kind=kind: rules_of(kind, zones=nested(folder, 4000))) for kind in KINDS},  # type: ignore[misc]  # kind has a type
    "presence by person and day": lambda folder: rules_of(
        "presence", zones=nested(folder, 4000), unit="person-day"
    ),
    "weighted flows": lambda folder: rules_of("flows", zones=nested_in(folder, weighted(folder, 5000))),
    "weighted presence": lambda folder: rules_of("presence", zones=nested_in(folder, weighted(folder, 5000))),
}


@pytest.mark.parametrize("name", CASES)
def test_published_estimates_agree_and_are_verified(tmp_path: Path, name: str) -> None:
    rules = CASES[name](tmp_path)
    made = make(tmp_path, rules)
    table, outer = (pq.read_table(made.folder / file) for file in ("table.parquet", "outer.parquet"))
    assert outer.column_names == table.column_names
    expected = sums_in(rules, numbers(table, "estimate"))
    np.testing.assert_allclose(numbers(outer, "estimate"), expected, rtol=1e-9, atol=1e-9)
    secret = numbers(pq.read_table(tmp_path / "counts.parquet"), "count")
    noise = numbers(outer, "count") * made.manifest.promise.granularity - sums_in(rules, secret)
    assert 0.5 < noise.std() / (2 * made.manifest.promise.sigma) < 1.6
    found = verify_table(city(), made.folder, secret=tmp_path / "counts.parquet")
    assert found.verdict.holds, found.verdict.findings
    assert "outer zones (nested.csv)" in (made.folder / "report.html").read_text()


def test_polygons_may_lie_in_outer_zones(tmp_path: Path) -> None:
    polygons, file = polygons_of(tmp_path, AREA), tmp_path / "nested.csv"
    file.write_text("zone,parent\nside 0,south\nside 1,south\nside 2,north\nside 3,north\nsouth,\nnorth,\n")
    made = make(tmp_path, rules_of("flows", zones=polygons.nested_by(file)))
    assert pq.read_table(made.folder / "outer.parquet")["origin"].to_pylist()[0] == "south"
    assert verify_table(city(), made.folder).verdict.holds


@pytest.mark.parametrize("form", EXPORTED)
def test_other_formats_keep_the_outer_table(tmp_path: Path, form: str) -> None:
    pytest.importorskip("h5py")
    made = make(tmp_path, rules_of("flows", zones=nested_in(tmp_path, weighted(tmp_path, 5000))))
    export_table(made.folder, tmp_path / "out", form)
    assert (tmp_path / "out" / "outer.parquet").exists()
    assert verify_table(city(), tmp_path / "out").verdict.holds


@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_moves_both_levels_by_no_more_than_one_bound(tmp_path: Path, kind: Kind) -> None:
    rules = rules_of(kind, zones=nested(tmp_path, 4000))
    promise = promise_of(rules, Privacy(epsilon=1.0, bound=0.7))
    people = people_of(tmp_path, rules)
    noise = np.ones(rules.levels[-1].cells.stop)
    noise[rules.levels[1].cells] = 2
    lengths = []
    for person in range(people.n_subjects):
        found, counts = tally(people.load(np.array([person])), rules, promise), np.zeros(rules.n_cells, int)
        counts[found.cells] = found.counts
        lengths.append(float(np.linalg.norm(rules.with_sums(counts) / noise)))
    assert max(lengths) <= promise.sensitivity
    assert max(lengths) > 0.98 * promise.sensitivity


def people_of(folder: Path, rules: Rules) -> StoredPeople:
    return store_people(city(), require_reading(Reading(), rules), folder / "people", Run())


def test_everybody_counts_whole_at_home(tmp_path: Path) -> None:
    """Each contributes the same to a zone and its outer zone, so that the bound must cut nobody."""
    rules = rules_of("homes", zones=nested(tmp_path, 4000))
    promise = promise_of(rules, Privacy(epsilon=1.0))
    people = people_of(tmp_path, rules)
    found = tally(people.load(np.arange(people.n_subjects)), rules, promise)
    assert found.sums[0] == found.sums[1] == found.counts.sum() > 0
    assert promise.sensitivity**2 < 1.26 * promise.granularity**2


@pytest.mark.parametrize("kind", ["flows", "presence"])
def test_intervals_of_both_levels_cover_as_often_as_they_say(tmp_path: Path, kind: Kind) -> None:
    rules = rules_of(kind, zones=nested(tmp_path, 2500))
    promise = promise_of(rules, Privacy(epsilon=1.0))
    sizes = np.random.default_rng(1).pareto(0.7, rules.n_cells) * 20
    counts = rules.with_sums(np.rint(sizes * promise.granularity).astype(np.int64))
    covered, errors, plain = [], [], []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        noisy = np.concatenate(
            [
                counts[one.cells] + stand_in(len(counts[one.cells]), one.noise * promise.sigma, generator)
                for one in rules.levels
            ]
        )
        estimates, spread = estimate(rules, noisy, promise)
        off = np.abs(estimates - counts)
        covered.append([(off <= spread * promise.half_width)[one.cells].mean() for one in rules.levels])
        errors.append(off[rules.levels[1].cells].mean())
        alone = (noisy - counts)[rules.levels[0].cells].astype(float)
        plain.append(np.abs(sums_in(rules, alone)).mean())
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < 0.015).all()
    assert np.mean(errors) < {"flows": 0.4, "presence": 0.75}[kind] * np.mean(plain)


# --- false tables -------------------------------------------------------------------------------------------


def findings_of(folder: Path, **changes: Any) -> set[str]:
    """What is found after files and entries of the manifest changed, with new digests."""
    path = folder / "manifest.json"
    stated = json.loads(path.read_text()) | changes
    stated["files"] = {name: sha256_of(folder / name) for name in stated["files"]}
    path.write_text(json.dumps(stated))
    return set(verify_table(city(), folder, secret=folder.parent / "counts.parquet").verdict.kinds)


def test_an_outer_table_that_does_not_agree_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, rules_of("presence", zones=nested(tmp_path, 4000))).folder
    table = pq.read_table(folder / "outer.parquet")
    assert findings_of(folder) == set()

    def changed(name: str, change: Callable[[Floats], Floats]) -> set[str]:
        column = pa.array(change(numbers(table, name)))
        other = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(other, folder / "outer.parquet", compression="zstd")
        return findings_of(folder)

    first = np.eye(1, len(table))[0]
    assert changed("estimate", lambda values: values + 1e-6 * first) == {"estimate-differs"}
    assert changed("low", lambda values: values + 0.01) == {"interval-differs"}
    assert "changed-file" in changed("count", lambda values: values + first)
    pq.write_table(table.slice(1), folder / "outer.parquet", compression="zstd")
    assert findings_of(folder) == {"cells-differ"}


@pytest.mark.parametrize(
    ("of_outer", "kinds"),
    [
        (lambda counts, _: counts, {"cells-without-noise", "noise-scale"}),
        (lambda counts, noise: counts + noise[: len(counts)], {"noise-scale"}),
        (lambda counts, noise: counts + 2 * noise[: len(counts)], {"noise-shared"}),
    ],
)
def test_outer_zones_without_noise_of_their_own_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_outer: Callable[..., Integers], kinds: set[str]
) -> None:
    rules, drawn = rules_of("presence", zones=nested(tmp_path, 3000), hours=hours_of("1h")), list[Integers]()

    def forged(counts: Integers, *how: Any) -> Integers:
        noisy = add_noise(counts, *how) if not drawn else of_outer(counts, drawn[0])
        drawn.append(noisy - counts)
        return noisy if len(drawn) < 3 else add_noise(counts, *how)

    monkeypatch.setattr(making, "add_noise", forged)
    folder = make(tmp_path, rules).folder
    assert kinds <= findings_of(folder)


def test_sums_of_noise_that_have_the_right_scale_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four zones to an outer zone add up to noise of twice the deviation."""
    rules, drawn = rules_of("presence", zones=nested(tmp_path, 2500, squares=2)), list[Integers]()

    def forged(counts: Integers, *how: Any) -> Integers:
        noisy = add_noise(counts, *how) if len(drawn) != 1 else rules.with_sums(drawn[0])[rules.n_cells :]
        drawn.append(noisy)
        return noisy

    monkeypatch.setattr(making, "add_noise", forged)
    folder = make(tmp_path, rules).folder
    assert findings_of(folder) == {"noise-shared"}


def test_noise_of_two_levels_is_told_from_sums_of_noise() -> None:
    """Of fixed tables: one true table in 10,000 is refused by design."""
    outer_of, keys = np.arange(480) // 4, {"zone": np.arange(480)}
    true, of_sums = [], []
    for seed in range(100):
        inner, outer = (
            NoisyCells(np.zeros(n, int), true_noise(Plan(sigma=sigma), n, seed + n), keys, sigma, 60, sigma)
            for n, sigma in ((480, 30), (120, 60))
        )
        sums = replace(outer, noise=np.bincount(outer_of, inner.noise).astype(np.int64))
        true += shared_findings(inner, outer, outer_of)
        of_sums += shared_findings(inner, sums, outer_of)
    assert true == []
    assert len(of_sums) == 100


def test_another_split_than_the_true_one_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, rules_of("presence", zones=nested(tmp_path, 3000))).folder
    zones = json.loads((folder / "manifest.json").read_text())["zones"]
    for noise, kind in ((1, "counts-too-large"), (4, "counts-differ")):
        split = {**zones, "nested": {**zones["nested"], "noise": noise}}
        assert {kind, "noise-scale", "estimate-differs"} <= findings_of(folder, zones=split)
    three = {**zones, "nested": {**zones["nested"], "n_zones": 3}}
    assert findings_of(folder, zones=three) == {"zones-differ"}
    without = {name: value for name, value in zones.items() if name != "nested"}
    assert {"columns-differ", "further-file"} <= findings_of(folder, zones=without)
    assert findings_of(folder, zones=zones) == set()
    parents = pq.read_table(folder / "zones.parquet")
    for wrong in ("r0c0", None):
        column = pa.array([wrong, *parents["parent"].to_pylist()[1:]])
        other = parents.set_column(parents.column_names.index("parent"), "parent", column)
        pq.write_table(other, folder / "zones.parquet", compression="zstd")
        assert "zones-differ" in findings_of(folder, zones=zones)


# --- attacks and errors -------------------------------------------------------------------------------------


def test_differencing_outer_and_inner_zones_finds_no_more_than_promised() -> None:
    """One victim as long as the bound allows, against all that two levels tell: 20,000 draws of noise."""
    rng, n, inner, epsilon, delta = np.random.default_rng(4), 20_000, 9, 1.0, 1e-8
    sigma = 5.39
    victim = 1 / np.sqrt(1 + 1 / 4)  # in one zone, and in its outer zone, whose noise is twice as large
    noise, of_outer = rng.normal(0, sigma, (n, inner)), rng.normal(0, 2 * sigma, n)
    others = rng.integers(0, 500, (n, inner))
    seen, above = others + noise, others.sum(axis=1) + of_outer
    known, total = others[:, 0], others[:, 1:].sum(axis=1)
    fitted = np.array([consistent_cell(cells, one) for cells, one in zip(seen, above, strict=True)])
    evidence = {
        "the zone": (seen[:, 0] - known, 1.0),
        "the outer zone": (above - known - total, 1.0),
        "the difference": (above - seen[:, 1:].sum(axis=1) - known, 1.0),
        "the estimate": (fitted - known, 1.0),
        "both": (seen[:, 0] - known + (above - known - total) / 4, 1.25),
    }
    bound = guessing_share(epsilon, delta)
    games = {
        name: play(name, "", numbers + gain * victim / 2, numbers - gain * victim / 2, bound, delta, n)
        for name, (numbers, gain) in evidence.items()
    }
    best = games["both"].success
    assert best > 0.51
    assert [name for name, game in games.items() if game.breaks_promise or game.epsilon > epsilon] == []
    assert [name for name, game in games.items() if game.success > best + 0.01] == []


def consistent_cell(cells: Floats, above: float) -> float:
    """The first of zones in one outer zone, after least squares."""
    inner, outer = (cells, np.ones(len(cells))), (np.array([above]), np.array([4.0]))
    return float(consistent(np.zeros(len(cells), int), np.ones(len(cells)), inner, outer)[0][0])


def test_games_use_the_outer_table_and_keep_the_promise(tmp_path: Path) -> None:
    """Where outer zones have counts far too large, both adversaries take everybody for a member."""
    folder = make(tmp_path, rules_of("presence", zones=nested(tmp_path, 4000))).folder
    games = {one.name: one for one in attack_table(city(), folder, rng=Randomness.for_research(1)).games}
    assert not any(one.breaks_promise for one in games.values())
    assert games["everybody-else"].success != 0.5
    table = pq.read_table(folder / "outer.parquet")
    larger = table.set_column(3, "count", pa.array(numbers(table, "count") + 1000.0))
    pq.write_table(larger, folder / "outer.parquet", compression="zstd")
    other = {one.name: one for one in attack_table(city(), folder, rng=Randomness.for_research(1)).games}
    assert (other["everybody-else"].success, other["marginals"].success) == (0.5, 0.5)


def test_errors_of_both_levels_are_measured(tmp_path: Path) -> None:
    folder = make(tmp_path, rules_of("presence", zones=nested(tmp_path, 4000))).folder
    figures = {one.name: one for one in measure_table(city(), folder)}
    plain = [name for name in figures if not name.startswith("outer-")]
    assert sorted(name for name in figures if name not in plain) == sorted(f"outer-{name}" for name in plain)
    assert figures["outer-total-error"].value == pytest.approx(figures["total-error"].value)
    assert figures["outer-error-from-10"].cells > 0


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("parent", "outer", 1), "needs the columns zone and parent"),
        (lambda text: text.replace("r0c0,outer 0 0\n", ""), "lacks the zone r0c0"),
        (lambda text: text.replace("r0c0,outer 0 0", "r0c0,"), "lacks the zone r0c0"),
        (lambda text: text + "\nr0c0,outer 0 0", "names a zone twice"),
        (lambda text: text + "\nr9c9,outer 0 0", "names r9c9, which is no zone"),
        (lambda text: text.replace("r0c0,outer 0 0", "r0c0,r0c0"), "zone 'r0c0' lies in itself"),
        (lambda text: text + "\nouter 0 0,all\nall,outer 0 0", "lies in itself"),
        (lambda text: text.replace("r0c0,outer 0 0", "r0c0,r0c1"), "names r0c1 as a zone and as an outer"),
        (lambda text: text + "\nouter 0 0,all", "names outer 0 0 as a zone and as an outer zone"),
    ],
)
def test_a_file_of_outer_zones_that_cannot_be_used_says_where(tmp_path: Path, change: Any, why: str) -> None:
    nested(tmp_path, 10_000)
    file = tmp_path / "nested.csv"
    file.write_text(change(file.read_text()))
    with pytest.raises(InputError, match=why):
        grid_zones(10_000, AREA).nested_by(file)


def test_flows_need_two_outer_zones(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=r"two outer zones, and nested\.csv names one"):
        rules_of("flows", zones=nested(tmp_path, 10_000, squares=100))


def test_the_command_takes_outer_zones_and_refuses_before_any_noise(shoal: Shoal, tmp_path: Path) -> None:
    pq.write_table(city(), tmp_path / "calls.parquet")
    nested(tmp_path, 10_000)
    file = tmp_path / "nested.csv"
    words = (
        "tabulate", tmp_path / "calls.parquet", "--kind", "homes", "--grid", "10km",
        "--area=" + ",".join(map(str, AREA)), "--period", f"{FIRST},{LAST}",
        "--nested", file, "--epsilon", "1", "--research-seed", "1",
        "--output", tmp_path / "table", "--secret", tmp_path / "counts.parquet",
    )  # fmt: skip
    whole = file.read_text()
    file.write_text(whole + "\nouter 0 0,all")
    refused = shoal(*words)
    assert (refused.code, "give two levels" in refused.err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.parquet", "nested.csv"]
    file.write_text(whole)
    made = shoal(*words)
    assert made.code == 0, made.err
    assert "note: the noise of the 2 outer zones of nested.csv is 2 times as large" in made.err
    assert shoal("verify", tmp_path / "calls.parquet", tmp_path / "table").code == 0
    assert "outer-total-error" in shoal("measure", tmp_path / "calls.parquet", tmp_path / "table").out
