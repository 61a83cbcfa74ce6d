"""What stands in a report: its numbers against plain recomputation, and nothing that it must not hold."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from figures import figures_of
from shoal.errors import MisuseError
from shoal.model.claims import KAnonymity
from shoal.model.intake import Intake, Reading
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.report.pages.assessment import assessment_report
from shoal.report.words import numbers
from shoal.report.words.exposure import gaps_in_numbers, gaps_in_words
from shoal.units import rounded_up, show_m
from small_releases import naive_release, plausible_gap, random_people, record_of

HOSTILE = "<script>alert('x')</script>\"&{{ 7 * 7 }}"


class Page(HTMLParser):
    """The facts, element ids, tags, figures and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.facts: dict[str, str] = {}
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.figures = figures_of(html)
        self.text = ""
        self._hidden = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        self.ids += [str(given["id"])] if "id" in given else []
        self.addresses += [str(given[name]) for name in ("src", "href", "action") if name in given]
        if tag == "data":
            assert given["id"] not in self.facts, "a fact stands twice under one name"
            self.facts[str(given["id"]).removeprefix("fact-")] = str(given["value"])
        self._hidden = tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def fact(self, name: str) -> float:
        return float(self.facts[name])


def make_report(
    original: Trajectories | None = None,
    *,
    k: int = 2,
    private: bool = False,
    publishable: bool = True,
    truthful: bool = True,
    suppress: int = 0,
) -> tuple[Trajectories, Release, str]:
    original = original or random_people(203, 20)
    release, linkage = naive_release(
        original, k=k, publishable=publishable, truthful=truthful, suppress=suppress
    )
    verdict = Verdict.of([], checked=release.n_records)
    gaps = [plausible_gap(original.n_subjects, size) for size in (2, 5)]
    return original, release, record_of(original, release, linkage, verdict, gaps, private=private)


def test_the_numbers_are_those_of_the_release() -> None:
    original, release, html = make_report(k=3, suppress=2)
    page = Page(html)
    records = [
        tuple(map(tuple, np.column_stack(release.record(i).columns()).tolist()))
        for i in range(release.n_records)
    ]
    sizes = Counter(Counter(records).values())
    assert page.fact("records") == release.n_records
    assert page.fact("crowds") == sum(sizes.values())
    assert {name: value for name, value in page.facts.items() if name.startswith("crowds-of-")} == {
        f"crowds-of-{size}": str(number) for size, number in sizes.items()
    }
    assert page.fact("boxes") == sum(map(len, records))
    assert page.fact("samples-suppressed") == rounded_up(release.losses.samples_suppressed) > 0
    assert page.fact("subjects-suppressed") == original.n_subjects - release.n_records > 0
    assert page.fact("rows-read") == rounded_up(original.intake.rows_read)
    assert (page.fact("dropped-1"), page.fact("dropped-2"), page.fact("repaired-1")) == (10, 10, 10)


def test_the_accuracy_is_that_of_the_boxes() -> None:
    _, release, html = make_report()
    page = Page(html)
    boxes = [
        box
        for i in range(release.n_records)
        for box in zip(*(c.tolist() for c in release.record(i).columns()), strict=True)
    ]
    space = [(x1 - x0 + y1 - y0) * 100 for _, _, x0, y0, x1, y1 in boxes]
    time = [(t1 - t0) * 60 for t0, t1, *_ in boxes]
    near = [s <= 2000 for s in space]
    soon = [t <= 7200 for t in time]
    expected = {
        "position-kept-published": sum(s == 200 for s in space) / len(boxes),
        "time-kept-published": sum(t == 60 for t in time) / len(boxes),
        "within-2km-published": sum(near) / len(boxes),
        "within-2h-published": sum(soon) / len(boxes),
        "within-both-published": sum(a and b for a, b in zip(near, soon, strict=True)) / len(boxes),
        "mean-space-published": sum(space) / len(boxes),
        "mean-time-published": sum(time) / len(boxes),
        "median-space-published": sorted(space)[(len(boxes) - 1) // 2],
        "median-time-published": sorted(time)[(len(boxes) - 1) // 2],
    }
    assert {name: page.fact(name) for name in expected} == pytest.approx(expected, rel=1e-3)


def test_the_gap_and_its_cost_are_those_of_the_people() -> None:
    _, _, html = make_report()
    page = Page(html)
    expected: dict[str, float] = {}
    for k in (2, 5):
        gap = plausible_gap(203, k)
        ranked = sorted(zip(gap.gap.tolist(), gap.space.tolist(), gap.time.tolist(), strict=True))
        middle = ranked[(203 - 20) // 2 :][:20]
        expected |= {
            f"gap-median-{k}": ranked[101][0],
            f"gap-space-{k}": sum(row[1] for row in middle) / 20 * 40_000,
            f"gap-time-{k}": sum(row[2] for row in middle) / 20 * 57_600,
        }
    assert len(expected) == 6
    assert {name: page.fact(name) for name in expected} == pytest.approx(expected, rel=1e-3)


def test_a_public_page_names_nobody_and_nothing_of_where_it_was_made() -> None:
    reading = Reading(not_after_s=1_893_456_000.0, id="secret_column")
    intake = Intake(
        rows_read=5000,
        notes=("read from hidden_file.csv",),
        unit_of_protection="each subject",
        reading=reading,
    )
    original, release, html = make_report(random_people(203, 20, intake=intake))
    own = html
    assert not any(uid in own for uid in original.ids)
    assert not any(name in own for name in release.trajectory_ids)
    for trace in (
        "hidden_file",
        "secret_column",
        "1893456000",
        "2030-01",
        datetime.now(UTC).date().isoformat(),
        str(Path.cwd()),
    ):
        assert trace not in own
    assert "example" not in " ".join(Page(html).ids)
    assert "PRIVATE" not in own


def test_two_pages_of_one_release_are_equal() -> None:
    original = random_people(60, 10)
    release, linkage = naive_release(original)
    gaps = [plausible_gap(60)]
    verdict = Verdict.of([], checked=60)
    assert record_of(original, release, linkage, verdict, gaps) == record_of(
        original, release, linkage, verdict, gaps
    )


def test_no_point_of_a_curve_over_people_is_a_person() -> None:
    original, _, html = make_report()
    gap = plausible_gap(original.n_subjects, 2)
    figure = Page(html).figures["k-gap"]
    line = [x for x, _ in figure.lines["k = 2"]]
    assert 2 <= len(line) <= original.n_subjects / 10
    assert gap.gap.min() < line[0]
    assert line[-1] < gap.gap.max()
    assert np.isclose(np.mean(line), gap.gap.mean(), rtol=0.05)


def test_too_few_people_for_a_curve_get_none() -> None:
    _, _, html = make_report(random_people(12, 20))
    page = Page(html)
    assert "k-gap" not in page.figures
    assert "Too few people" in page.text


def test_the_private_page_shows_one_crowd_by_numbers_only() -> None:
    original, release, html = make_report(k=3, private=True)
    page = Page(html)
    assert {"private-banner", "example", "plot-example-space", "plot-example-time"} <= set(page.ids)
    assert "do not publish" in page.text
    assert all(f"member {number}" in page.text for number in (1, 2, 3))
    own = html
    assert not any(name in own for name in (*original.ids, *release.trajectory_ids))
    figure = page.figures["example-time"]
    rows = [np.array(marks)[:, 0] for name, marks in figure.marks.items() if name.startswith("member")]

    grid = original.grid
    assert grid is not None

    def are_of(first: int) -> bool:
        """Whether each time has a mark and each mark a time; times that are closer than a dot share one."""
        times = [original.samples_of(first + number)[0] for number in range(3)]
        start = min(int(t[0]) for t in times)
        wanted = [(t - start + 0.5) * grid.slot_s / 3600 for t in times]
        apart = [np.abs(row[:, None] - hours) for row, hours in zip(rows, wanted, strict=True)]
        farthest = max(float(max(one.min(axis=0).max(), one.min(axis=1).max())) for one in apart)
        return farthest < 5 * figure.x.unit

    assert len(rows) == 3
    assert sum(are_of(first) for first in range(0, 201, 3)) == 1


@pytest.mark.parametrize(("publishable", "banner"), [(False, True), (True, False)])
def test_a_research_release_says_that_it_is_not_for_publication(publishable: bool, banner: bool) -> None:
    _, _, html = make_report(publishable=publishable)
    assert ("research-banner" in Page(html).ids) is banner


@pytest.mark.parametrize(("truthful", "banner"), [(False, True), (True, False)])
def test_an_untruthful_claim_is_said_to_be_one(truthful: bool, banner: bool) -> None:
    page = Page(make_report(truthful=truthful)[2])
    assert ("untruthful-banner" in page.ids) is banner
    assert ("holds a true sample of each member" in page.text) is truthful


def test_a_claim_that_does_not_hold_is_told_by_kinds_and_without_pseudonyms() -> None:
    original = random_people(40, 10)
    release, linkage = naive_release(original)
    broken = Finding(
        "crowd-too-small", f"{release.trajectory_ids[0]} stands alone", release.trajectory_ids[0]
    )
    html = record_of(original, release, linkage, Verdict.of([broken, broken], checked=40), [])
    page = Page(html)
    holds, fails = "The claim holds", "The claim does not hold"
    sound = Page(record_of(original, release, linkage, Verdict.of([], checked=40), []))
    assert (holds in sound.text, fails in sound.text) == (True, False)
    assert (holds in page.text, fails in page.text) == (False, True)
    assert "crowd-too-small: 2" in page.text
    assert release.trajectory_ids[0] not in html


def test_hostile_text_stays_text() -> None:
    intake = Intake(
        rows_read=9999,
        dropped={HOSTILE: 3},
        repaired={HOSTILE: 2},
        notes=(HOSTILE,),
        unit_of_protection=HOSTILE,
        reading=Reading(id=HOSTILE),
    )
    original = random_people(203, 12, intake=intake, crs=HOSTILE)
    release, linkage = naive_release(original)
    gaps = [plausible_gap(203)]
    verdict = Verdict.of([], checked=3, notes=[HOSTILE])
    for unexplained in ({"method": HOSTILE}, {"parameters": {HOSTILE: HOSTILE}}):
        with pytest.raises(MisuseError, match=r"is no method|has no parameter"):
            record_of(original, replace(release, **unexplained), linkage, verdict, gaps)
    release = replace(release, parameters={**release.parameters, "generalize": HOSTILE})
    page = Page(record_of(original, release, linkage, verdict, gaps, private=True))
    assert page.tags["script"] == 0
    assert page.text.count(HOSTILE) >= 7
    assert HOSTILE in Page(assessment_report(original, gaps)).text


@pytest.mark.parametrize("kind", ["release", "assessment"])
def test_a_page_is_self_contained(kind: str) -> None:
    original = random_people(203, 12)
    html = (
        make_report(original, private=True)[2]
        if kind == "release"
        else assessment_report(original, [plausible_gap(203)])
    )
    page = Page(html)
    assert (page.tags["script"], page.tags["svg"] > 3) == (0, True)
    assert "script-src" not in html, "what no policy allows is forbidden: default-src 'none'"
    assert len(html) < 200_000
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert page.tags["h1"] == 1
    assert page.tags["html"] == html.partition("</head>")[0].count("<title>") == 1
    assert len(page.ids) == len(set(page.ids))
    assert all(
        anchor in page.ids for address in page.addresses if (anchor := address.removeprefix("#")) != address
    )
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", page.text)


def test_an_assessment_tells_cost_and_tail() -> None:
    original = random_people(400, 25)
    gap = plausible_gap(400)
    hard = np.argsort(original.lengths)[-20:]
    space, time = gap.space.copy(), gap.time.copy()
    space[hard], time[hard] = 0.5, 0.45
    gap = replace(gap, space=space, time=time, gap=space + time)
    page = Page(assessment_report(original, [plausible_gap(400, 5), gap]))
    assert page.fact("tail-people") == 20
    assert page.fact("tail-samples") == np.median(original.lengths[hard])
    assert page.fact("all-samples") == np.median(original.lengths)
    assert page.fact("tail-space") == 20_000
    assert page.fact("mostly-time") == pytest.approx(np.mean(gap.time / gap.gap > 0.5), rel=1e-3)
    assert "more samples" in page.text
    assert list(page.figures) == ["k-gap", "time-share", "tail-weight"]
    assert all(sentence in page.text for sentence in gaps_in_words(original, [gap, plausible_gap(400, 5)]))
    numbers = gaps_in_numbers(original, [gap, plausible_gap(400, 5)])
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert numbers["gaps"][0]["k"] == 2
    assert numbers["tail"]["medians"]["samples"]["tail"] == np.median(original.lengths[hard])


def test_gyration_and_quiet_hours_equal_plain_loops() -> None:
    from shoal.report.facts.exposure import gyration_m, share_in_quiet_hours

    original = random_people(30, 12)
    hours = [[int(slot) * 60 // 3600 % 24 for slot in t] for t, _, _ in original]
    counts = Counter(hour for own in hours for hour in own)
    quiet = sorted(range(24), key=lambda hour: (counts[hour], hour))[:8]
    assert original.n_subjects == 30
    for subject, (_, x, y) in enumerate(original):
        far = sum(
            (a - sum(x) / len(x)) ** 2 + (b - sum(y) / len(y)) ** 2 for a, b in zip(x, y, strict=True)
        ) / len(x)
        assert gyration_m(original)[subject] == pytest.approx(100 * math.sqrt(far))
        assert share_in_quiet_hours(original)[subject] == pytest.approx(
            sum(h in quiet for h in hours[subject]) / len(hours[subject])
        )


def test_everybody_hidden_and_flat_tails_are_said_without_nan() -> None:
    original = random_people(300, 5)
    zero, unknown = np.zeros(300), np.full(300, np.nan)
    gap = replace(
        plausible_gap(300),
        gap=zero,
        space=zero,
        time=zero,
        tail_weight=unknown,
        tail_weight_space=unknown,
        tail_weight_time=unknown,
    )
    page = Page(assessment_report(original, [gap]))
    assert page.fact("gap-hidden-2") == 1
    assert not re.search(r"\bnan\b", page.text)
    assert gaps_in_numbers(original, [gap])["median_time_share"] is None


@pytest.mark.parametrize("people", [1, 4])
def test_an_assessment_of_hardly_anybody_is_still_a_page(people: int) -> None:
    page = Page(assessment_report(random_people(people, 5), [plausible_gap(people)]))
    assert page.fact("subjects") == people
    assert page.figures == {}


def test_a_gap_of_other_people_is_refused() -> None:
    original = random_people(20, 5)
    release, linkage = naive_release(original)
    with pytest.raises(MisuseError, match="the same data"):
        record_of(original, release, linkage, Verdict.of([], checked=20), [plausible_gap(21)])
    with pytest.raises(MisuseError, match="at least one k"):
        assessment_report(original, [])


def test_the_claim_is_put_in_words() -> None:

    assert "to at least one other; " in KAnonymity(k=2).promise
    assert KAnonymity(k=5, truthful=False).promise.endswith("to at least 4 others.")


def test_large_numbers_are_written_out() -> None:
    assert (numbers.number(1794), numbers.number(0.0312)) == ("1,790", "0.0312")
    assert (numbers.meters(12_340_000), numbers.meters(4_660_000)) == ("12,300 km", "4,660 km")
    assert (numbers.seconds(1390 * 86_400), numbers.seconds(4_230_000 * 86_400)) == ("1,390 d", "4,230,000 d")
    assert show_m(98_765_432) == "98,770 km"
