"""The record of a release of boxes: every number is marked, and is what public functions give."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shoal
from command_line import Shoal
from figures import value_of
from record_marks import (
    RECORD,
    TERMS,
    Marks,
    check_vanished_drawings,
    gaps_of,
    risks_of,
    same,
    vanished_of,
)
from shoal.attacks import Rate, attack
from shoal.attacks.knowledge import parse_knowledge, record_knowledge
from shoal.attacks.questions import DRAW
from shoal.errors import InputError, MisuseError
from shoal.model.release import Losses
from shoal.model.trajectories import Trajectories
from shoal.release_folder.manifest import LossesJson, Statement, read_manifest, read_statement
from shoal.report import pages
from shoal.report.facts.curves import Curve, curve_of_extents, curve_of_people
from shoal.report.facts.ground import density_map
from shoal.report.figures.record import FIGURES
from shoal.report.words.numbers import exact, two_digits
from shoal.report.words.numbers import number as plain_number
from shoal.report.words.settings import method_name, settings_of, techniques_of
from shoal.runtime.randomness import Randomness
from shoal.units import rounded_up, show_m, show_s
from shoal.utility import METRICS, measure
from shoal.utility.accuracy import measure_accuracy
from small_releases import random_people
from usefulness_texts import usefulness_texts

LAEA = "+proj=laea +lat_0=48.9 +lon_0=2.3 +datum=WGS84 +units=m +no_defs"


def with_loners() -> Trajectories:
    """A crowd around a center and a few people elsewhere, in another order than that of their names."""
    return random_people(80, 14, seed=2, days=3, cells=60, crs=LAEA)


CASES: dict[str, Callable[[], Any]] = {
    "glove": lambda: shoal.Glove(k=3),
    "glove, suppressing": lambda: shoal.Glove(k=2, suppress_space_m=4_000, suppress_time_s=6 * 3600),
    "kte-hide": lambda: shoal.KteHide(k=2, tau_s=12 * 3600, epsilon_s=12 * 3600),
}


EXACT: dict[Path, Losses] = {}  # of each folder, whose files give rounded counts


@pytest.fixture(scope="module", params=CASES)
def published(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trajectories, Path]:
    folder, original = tmp_path_factory.mktemp("record"), with_loners()
    (folder / "record.toml").write_text(RECORD)
    made = shoal.publish(
        original,
        CASES[request.param](),
        folder / "release",
        rng=Randomness.from_system(),
        linkage_file=folder / "linkage.parquet",
        tries=40,
        options=shoal.PublishOptions(
            private_report=folder / "private.html", statement=read_statement(folder / "record.toml")
        ),
    )
    EXACT[folder] = made.release.losses
    assert read_manifest(folder / "release").losses == LossesJson(**asdict(made.release.losses.rounded()))
    return original, folder


def recomputed(original: Trajectories, folder: Path) -> dict[str, float]:
    """Every figure of the public record, from the files and the raw data."""
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    manifest, k = read_manifest(folder / "release"), release.claim.k
    records = [release.record(r) for r in range(release.n_records)]
    sizes = Counter(Counter(np.column_stack(boxes.columns()).tobytes() for boxes in records).values())
    losses, n, m = EXACT[folder], original.n_subjects, original.n_samples
    grid = release.snapped_grid()
    found: dict[str, float] = {
        **dict.fromkeys(("records", "records-to-check"), manifest.n_records),
        **dict.fromkeys(("boxes", "boxes-in-all", "map-boxes"), manifest.n_samples),
        **dict.fromkeys(
            ("suppressed-share", "samples-suppressed-share"), two_digits(losses.samples_suppressed / m)
        ),
        **dict.fromkeys(("samples", "samples-in-all"), rounded_up(m)),
        **dict.fromkeys(("subjects", "subjects-in-all"), n),
        "samples-suppressed": rounded_up(losses.samples_suppressed),
        "subjects-suppressed": losses.subjects_suppressed,
        "subjects-suppressed-share": losses.subjects_suppressed / n,
        "rows-read": rounded_up(original.intake.rows_read),
        "median-samples": float(np.median(original.lengths)),
        "samples-per-day": two_digits(
            m / n / len(range(int(original.t.min()) // 1440, int(original.t.max()) // 1440 + 1))
        ),
        "span": int(release.boxes.t_end.max() - release.boxes.t_start.min()) * grid.slot_s,
        "cell": grid.cell_m,
        **dict.fromkeys(("slot", "least-time"), grid.slot_s),
        "least-space": 2 * grid.cell_m,
        "risk-tries": 40,
    }
    for place, count in enumerate(losses.samples_by_reason.values(), start=1):
        found |= {
            f"sample-reason-{place}": rounded_up(count),
            f"sample-reason-share-{place}": two_digits(count / m),
        }
    for what, rows in (("dropped", losses.rows), ("repaired", original.intake.repaired)):
        for place, count in enumerate(sorted(rows.values(), reverse=True), start=1):
            found |= {
                f"{what}-{place}": rounded_up(count),
                f"{what}-share-{place}": two_digits(count / original.intake.rows_read),
            }
    if isinstance(release.claim, shoal.KAnonymity):
        found |= {"k-crowds": k, "crowds": sum(sizes.values())}
        for size in sorted(sizes)[:12]:
            found |= {
                f"crowd-size-{size}": size,
                f"crowds-of-{size}": sizes[size],
                f"crowd-share-{size}": size * sizes[size] / release.n_records,
            }
        if len(sizes) > 12:
            found["larger-sizes"] = len(sizes) - 12
    found |= gaps_of(original, {2, 5, k})
    accuracy = measure_accuracy(original, release, linkage)
    found["raw-covered"] = rounded_up(accuracy.raw.n_samples)
    for reading, extents in (("raw", accuracy.raw), ("published", accuracy.published)):
        found |= {
            f"position-kept-{reading}": extents.share_within(space_m=2 * grid.cell_m),
            f"time-kept-{reading}": extents.share_within(time_s=grid.slot_s),
            f"within-2km-{reading}": extents.share_within(space_m=2000),
            f"within-2h-{reading}": extents.share_within(time_s=7200),
            f"within-both-{reading}": extents.share_within(space_m=2000, time_s=7200),
            f"median-space-{reading}": extents.median_space_m,
            f"mean-space-{reading}": extents.mean_space_m,
            f"median-time-{reading}": extents.median_time_s,
            f"mean-time-{reading}": extents.mean_time_s,
        }
    for name, value in found.items():
        if name.endswith("-raw"):
            found[name] = two_digits(value) if value < 1 else float(f"{value:.3g}")
    named = [name for name, metric in METRICS.items() if "boxes" in metric.in_record_of]
    assert len(named) == 7
    for one in measure(original, release, linkage, named):
        found[f"utility-{one.name}"] = one.result.value
        if one.result.low is not None and one.result.high is not None:
            found |= {f"utility-low-{one.name}": one.result.low, f"utility-high-{one.name}": one.result.high}
    return (
        found
        | rates_recomputed(original, release, linkage)
        | vanished_recomputed(original, release, linkage, private=False)
    )


def knowledge_of(release: shoal.Release) -> tuple[str, ...]:
    known = record_knowledge(release, 40)
    assert {"points:4", "top:2", "attribution:2", "home-work"} < set(known)
    assert isinstance(release.claim, shoal.KteAnonymity) == any(text.startswith("tau:") for text in known)
    return known


def rates_and_notes(
    original: Trajectories, release: shoal.Release, linkage: shoal.Linkage
) -> tuple[list[tuple[str, Rate]], list[str]]:
    """Every attack by itself with what was asked; what was not tried: nobody is outside of the release."""
    rates: list[tuple[str, Rate]] = []
    notes = []
    for text in knowledge_of(release):
        try:
            found = attack(
                original, release, linkage, knowledge=[text], rng=Randomness.for_research(DRAW), tries=40
            )
            rates += [(text, rate) for rate in found.rates]
        except MisuseError as error:
            notes.append(f"{text} was not tried: {error.cli_message}")
    assert all(note.startswith("membership:") for note in notes)
    assert len(notes) <= 1
    return rates, notes


def rates_recomputed(
    original: Trajectories, release: shoal.Release, linkage: shoal.Linkage
) -> dict[str, float]:
    """The three questions, asked again one by one."""
    asked, _ = rates_and_notes(original, release, linkage)
    return risks_of(asked, "boxes")


def lost_rows(
    original: Trajectories, release: shoal.Release, linkage: shoal.Linkage
) -> list[tuple[int, int, int, int, bool]]:
    """(subject, t, x, y, lost) of every raw sample, by looking at every box of its own record."""
    own = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    rows = []
    for subject, (uid, samples) in enumerate(zip(original.ids, original, strict=True)):
        name = own.get(uid)
        boxes = (
            []
            if name is None
            else list(zip(*release.record(release.trajectory_ids.index(name)).columns(), strict=True))
        )
        for t, x, y in zip(*(column.tolist() for column in samples), strict=True):
            held = any(b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5] for b in boxes)
            rows.append((subject, t, x, y, not held))
    return rows


def vanished_recomputed(
    original: Trajectories, release: shoal.Release, linkage: shoal.Linkage, *, private: bool
) -> dict[str, float]:
    return vanished_of(lost_rows(original, release, linkage), release.snapped_grid().cell_m, private=private)


ONLY_DRAWN = {
    "map-width",
    "map-height",
    "map-outlines",
    "map-outside",
}  # about the drawing itself: compared with it below


def test_every_number_is_marked_and_is_what_public_functions_give(
    published: tuple[Trajectories, Path],
) -> None:
    original, folder = published
    page = Marks((folder / "release/report.html").read_text())
    assert page.unmarked == []
    assert page.terms <= TERMS
    expected = recomputed(original, folder)
    assert page.facts.keys() - ONLY_DRAWN == expected.keys()
    wrong = {
        name: (page.facts[name], value)
        for name, value in expected.items()
        if not same(page.facts[name][0], value)
    }
    assert wrong == {}


def test_every_text_with_a_number_is_that_of_the_manifest(published: tuple[Trajectories, Path]) -> None:
    original, folder = published
    page = Marks((folder / "release/report.html").read_text())
    manifest, release = read_manifest(folder / "release"), shoal.read_release(folder / "release")
    settings = settings_of(release)
    asked, notes = rates_and_notes(original, release, shoal.read_linkage(folder / "linkage.parquet"))
    linkage = shoal.read_linkage(folder / "linkage.parquet")
    shown = [rate for _, rate in asked if rate.target == "release"]
    untried = {note.partition(" ")[0] for note in notes}
    days = [
        int(moment) * 60 // 86_400 for moment in (release.boxes.t_start.min(), release.boxes.t_end.max() - 1)
    ]
    expected = {
        "claim": [release.claim.promise],
        "claim-name": [release.claim.name],
        "limit[]": list(release.claim.limits),
        "method": [method_name(release.method)],
        "unit_of_protection": [manifest.unit_of_protection],
        "crs": [manifest.crs],
        "verdict.notes[]": manifest.verdict["notes"],
        "losses.rows[]": list(manifest.losses.rows),
        "losses.samples_by_reason[]": list(manifest.losses.samples_by_reason),
        "rows_repaired[]": list(manifest.rows_repaired),
        "setting-name[]": [setting.name for setting in settings],
        "setting[]": [setting.value for setting in settings],
        "setting-meaning[]": [setting.meaning for setting in settings],
        "knowledge[]": [rate.knowledge for rate in shown],
        "attacker[]": [rate.attacker for rate in shown],
        "attack-source[]": [
            parse_knowledge(text).adversary.source for text in knowledge_of(release) if text not in untried
        ],
        "risk-note[]": notes,
        "first-day": [str(np.datetime64(days[0], "D"))],
        "last-day": [str(np.datetime64(days[1], "D"))],
        **usefulness_texts(original, release, linkage),
        **{f"record.{name}": [text] for name, text in manifest.record.items() if name != "earlier_releases"},
        **{
            f"record.earlier_releases[].{name}": [
                earlier[name] for earlier in manifest.record["earlier_releases"]
            ]
            for name in ("name", "published_on", "overlap")
        },
    }
    assert {path: set(texts) for path, texts in page.quotes.items()} == {
        path: set(texts) for path, texts in expected.items() if texts
    }
    assert page.title == f"Report of a release: {release.claim.name} ({method_name(release.method)})"


def test_every_drawing_is_of_these_numbers(published: tuple[Trajectories, Path]) -> None:
    original, folder = published
    page = Marks((folder / "release/report.html").read_text())
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    accuracy = measure_accuracy(original, release, linkage)
    drawn = page.figures
    assert drawn
    seen = set()

    def line(name: str, layer: str, x: tuple[float, ...], y: tuple[float, ...]) -> None:
        """To what a reader can tell: a tenth of a unit of the drawing."""
        seen.add(name)
        across, up = zip(*drawn[name].lines[layer], strict=True)
        assert across == pytest.approx(x, abs=drawn[name].x.unit, rel=5e-3 if drawn[name].x.log else 0), name
        assert up == pytest.approx(y, abs=drawn[name].y.unit), name

    for name, spatial in (("spatial-accuracy", True), ("temporal-accuracy", False)):
        # "raw samples" beside "published samples" read as before and after: both are boxes of the release
        layers = ["the box of each raw sample", "each published box"]
        assert list(drawn[name].lines) == drawn[name].legend == drawn[name].table[0][1:] == layers
        for layer, extents in zip(layers, (accuracy.raw, accuracy.published), strict=True):
            curve = curve_of_extents(extents, spatial=spatial)
            line(name, layer, curve.value, curve.share)
            check_levels(drawn[name].table, layer, curve, show_m if spatial else show_s)
    for k in sorted({2, 5, release.claim.k}):
        curve = curve_of_people(shoal.k_gap(original, k).gap)
        line("k-gap", f"k = {k}", curve.value, curve.share)
        check_levels(drawn["k-gap"].table, f"k = {k}", curve, plain_number)
    if isinstance(release.claim, shoal.KAnonymity):
        records = [np.column_stack(release.record(r).columns()).tobytes() for r in range(release.n_records)]
        sizes = Counter(Counter(records).values())
        seen.add("crowd-sizes")
        bars = drawn["crowd-sizes"].bars
        assert [said for _, _, said in bars] == [f"{size}: {sizes[size]}" for size in sorted(sizes)]
        assert [x for x, _, _ in bars] == pytest.approx(sorted(sizes), abs=0.1)
        heights = [sizes[size] for size in sorted(sizes)]
        assert [high for _, high, _ in bars] == pytest.approx(heights, abs=2 * drawn["crowd-sizes"].y.unit)
    if release.losses.samples_suppressed:
        check_vanished_drawings(drawn, lost_rows(original, release, linkage), release.snapped_grid().cell_m)
        seen |= {"vanished-hour", "vanished-place"}
    check_map(page, release)
    assert drawn.keys() == seen | {"map"}


def check_levels(table: list[list[str]], layer: str, curve: Curve, show: Callable[[float], str]) -> None:
    """Each row of a table is where the line first reaches that height."""
    column, rows = table[0].index(layer), table[1:]
    assert len(rows) >= 4
    for row in rows:
        level = round(value_of(row[0]), 6)
        reached = [x for x, y in zip(curve.value, curve.share, strict=True) if y >= level]
        assert row[column] == (show(reached[0]) if reached else "\N{EN DASH}")


def check_map(page: Marks, release: shoal.Release) -> None:
    """A darker shade is a denser cell, each half a power of ten; the rectangles are boxes of the release."""
    figure, density = page.figures["map"], density_map(release.boxes)
    window, cell_km = density.window, release.snapped_grid().cell_m / 1000
    assert float(page.facts["map-width"][0]) == pytest.approx(
        1000 * window.columns * window.side * cell_km, rel=1e-3
    )
    assert float(page.facts["map-height"][0]) == pytest.approx(
        1000 * window.rows * window.side * cell_km, rel=1e-3
    )
    west, south = window.x * cell_km, window.y * cell_km
    side = window.side * cell_km
    shades = {(round((one[1] - south) / side), round((one[0] - west) / side)): one[4] for one in figure.cells}
    assert shades.keys() == set(zip(*(at.tolist() for at in np.nonzero(density.expected)), strict=True))
    per_km2 = density.expected / side**2
    by_shade = {
        shade: [per_km2[cell] for cell, own in shades.items() if own == shade]
        for shade in set(shades.values())
    }
    assert len(by_shade) >= 2
    ordered = sorted(by_shade)
    for lower, higher in pairwise(ordered):
        assert max(by_shade[lower]) < min(by_shade[higher])
        assert lower == ordered[0] or max(by_shade[lower]) / min(by_shade[lower]) <= 10**0.5
    rings = figure.outlines["some boxes"]
    assert int(page.facts["map-outlines"][0]) == len(rings)
    boxes = np.column_stack(release.boxes.columns())[:, 2:] * cell_km
    for ring in rings:
        x, y = zip(*ring, strict=True)
        near = np.abs(boxes - [min(x), min(y), max(x), max(y)]).max(axis=1)
        assert near.min() <= 2 * figure.x.unit


def test_a_figure_needs_a_row_and_a_line_in_a_template() -> None:
    """Every figure of the table is placed by a template, and every placed one stands in the table."""
    templates = "".join(path.read_text() for path in Path(pages.__file__).parents[1].glob("templates/*.j2"))
    named = set(re.findall(r'call plot\(drawings, "([a-z-]+)"', templates))
    assert FIGURES.keys() <= named


def test_the_private_page_adds_counts_and_nothing_unmarked(published: tuple[Trajectories, Path]) -> None:
    original, folder = published
    public, private = (Marks((folder / name).read_text()) for name in ("release/report.html", "private.html"))
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    assert private.unmarked == []
    more = private.facts.keys() - public.facts.keys()
    counts = vanished_recomputed(original, release, linkage, private=True)
    assert {name for name in more if name.startswith("vanished")} == {
        name for name in counts if name not in public.facts
    }
    assert all(private.facts[name][0] == exact(value) for name, value in counts.items() if name in more)
    assert {name for name in more if not name.startswith("vanished")} == (
        {name for name in more if name.startswith(("member", "example"))}
    )


def test_it_never_says_anonymous_and_has_no_place_to_sign(published: tuple[Trajectories, Path]) -> None:
    _, folder = published
    page = Marks((folder / "release/report.html").read_text())
    assert "anonymous" not in (page.text + page.title).lower()
    assert all(
        word in page.text for word in ("shoal record", "singled out", "not stated", "Two universities")
    )
    assert "place and date" not in page.text


def test_a_report_without_a_statement_or_attacks_says_so(tmp_path: Path) -> None:
    original = random_people(30, 8, seed=1)
    shoal.publish(original, shoal.Glove(k=2), tmp_path / "release", rng=Randomness.from_system(), tries=0)
    page = Marks((tmp_path / "release/report.html").read_text())
    unstated = page.text.partition("not stated: ")[2].partition("This section")[0]
    assert len(unstated.split("; ")) == 12
    assert "no attack was played" in page.text
    assert "checked together with no earlier release of the same people" in page.text
    assert page.unmarked == []


def test_rates_of_hardly_anybody_are_not_shown(tmp_path: Path) -> None:
    original = random_people(8, 6, seed=1)
    shoal.publish(original, shoal.Glove(k=2), tmp_path / "release", rng=Randomness.from_system())
    page = Marks((tmp_path / "release/report.html").read_text())
    assert "fewer than ten people; not shown" in page.text
    assert not any(name.startswith("risk-") and name != "risk-tries" for name in page.facts)
    assert "Fewer than ten people are in this release" in page.text
    assert not any(name.startswith("utility-") for name in page.facts)


def test_a_statement_round_trips_and_its_faults_are_named(tmp_path: Path) -> None:
    file = tmp_path / "record.toml"
    file.write_text(RECORD)
    statement = read_statement(file)
    assert Statement.model_validate(statement.to_json()) == statement
    assert statement.earlier_releases is not None
    for text, message in [
        ("purpos = 'x'", "purpos.*known: .*publisher, purpose"),
        ("reassess_on = 'soon'", "reassess_on"),
        ("purpose = ", "not valid TOML"),
        ("purpose = ''", "purpose"),
        ("[[earlier_releases]]\npublished_on = 2025-01-01", r"earlier_releases\.0\.name"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_statement(file)
    with pytest.raises(InputError, match="cannot read"):
        read_statement(tmp_path / "none.toml")


def test_a_statement_that_names_somebody_is_refused(tmp_path: Path) -> None:
    original = random_people(30, 8, seed=1)
    with pytest.raises(shoal.errors.ClaimError, match="raw-identifier"):
        shoal.publish(
            original,
            shoal.Glove(k=2),
            tmp_path / "release",
            rng=Randomness.from_system(),
            options=shoal.PublishOptions(statement=Statement(purpose=f"find {original.ids[3]}")),
        )
    assert not (tmp_path / "release").exists()


def test_a_release_is_classified() -> None:
    release, _ = shoal.Glove(k=2).anonymize(random_people(10, 5), Randomness.from_system())
    assert [t.name for t in techniques_of(release)] == [
        "pseudonymization",
        "rounding",
        "local generalization",
    ]
    assert shoal.KteAnonymity(k=2, tau_s=60, epsilon_s=60).privacy_model.startswith("none")


def test_the_command_takes_the_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    (tmp_path / "record.toml").write_text(RECORD)
    assert call("synthesize", tmp_path / "city.parquet", "--subjects", 30, "--days", 1).code == 0
    words = ("anonymize", tmp_path / "city.parquet", "--quiet", "--risk-tries", 20)
    assert call(*words, "--record", tmp_path / "record.toml", "--output", tmp_path / "r").code == 0
    assert read_manifest(tmp_path / "r").record["purpose"] == "Plan 3 bus lines"
    (tmp_path / "record.toml").write_text("purpos = 'x'")
    refused = call(*words, "--record", tmp_path / "record.toml", "--output", tmp_path / "s")
    assert refused.code == 2
    assert "purpos" in refused.err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("method", [shoal.Glove(k=2), shoal.SwapLocations(k=2)], ids=["boxes", "points"])
def test_counts_with_and_without_a_person_do_not_show_how_many_samples_were_hers(
    method: Any, tmp_path: Path
) -> None:
    """Nor how many of her rows were dropped, or written twice."""
    rows = shoal.synthesize(n_subjects=40, days=2, seed=3).to_pandas()
    hers = rows[rows["uid"] == rows["uid"].iloc[-1]]
    broken = hers.iloc[:7].assign(lat=95.0)
    numbers = []
    for name, frame in (("with", pd.concat([rows, broken])), ("without", rows.drop(hers.index))):
        folder = tmp_path / name
        original = shoal.read(frame, snap=isinstance(method, shoal.Glove))
        shoal.publish(original, method, folder, rng=Randomness.for_research(1), tries=0)
        manifest = json.loads((folder / "manifest.json").read_text())
        shown = dict(
            re.findall(r'<data id="fact-([^"]+)" value="([0-9.]+)"', (folder / "report.html").read_text())
        )
        published = {"published": manifest["n_samples"]}
        numbers.append(
            {**{fact: float(value) for fact, value in shown.items()}, **_counts(manifest), **published}
        )
    one, other = numbers
    counts = [abs(one[name] - other.get(name, 0)) for name in one if "published" not in name]
    total = [  # raw samples are published or suppressed
        sum(each[name] for name in ("published", "losses.samples_suppressed")) for each in numbers
    ]
    assert one["losses.rows.latitude outside -90..90"] == 10
    assert not {7.0, float(len(hers)), len(hers) + 7.0} & {*counts, abs(total[0] - total[1])}


def _counts(entries: Any, path: str = "") -> dict[str, float]:
    if isinstance(entries, dict):
        return {
            k: v
            for name, each in entries.items()
            for k, v in _counts(each, f"{path}.{name}".lstrip(".")).items()
        }
    return {path: float(entries)} if isinstance(entries, int) else {}


@pytest.mark.parametrize(("k", "judged"), [(2, "exceeded"), (11, "kept")])
def test_a_public_page_shows_what_is_asked_for_anybody(tmp_path: Path, k: int, judged: str) -> None:
    people = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    rng = shoal.Randomness.from_system()
    folder = shoal.publish(people, shoal.Glove(k=k), tmp_path / "release", rng=rng, tries=0).folder
    page = (folder / "report.html").read_text(encoding="utf-8")
    said = " ".join(re.sub("<[^>]+>", "", page.partition('id="public">')[2].partition("</p>")[0]).split())
    assert f"precedents ask for k = 11, naming at most 1 in 11: {judged}" in said
