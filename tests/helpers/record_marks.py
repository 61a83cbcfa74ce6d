"""What a reader sees of a record, mark by mark, and slow counts that its figures are compared with."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

import numpy as np
import pytest

import shoal
from figures import Figure, figures_of
from shoal.attacks import ATTACKS, Rate
from shoal.attacks.questions import QUESTIONS
from shoal.model.trajectories import Trajectories
from shoal.report.words.numbers import exact
from shoal.units import percent

TERMS = {
    # the minus sign of the page
    *("95 %", "5 %", "k − 1", "0", "1", "1 in", "2 km", "2 h", "2 hours", "ISO/IEC 20889:2018"),  # noqa: RUF001
    *("k = 11", "1 in 11"),
    "Article 29 Working Party's Opinion 05/2014",
    *(
        "box is one cell",
        "box is one slot",
        "box is at most 2 km",
        "box is at most 2 h",
        "box is at most 2 km and 2 h",
    ),
    *("median extent in place", "mean extent in place", "median extent in time", "mean extent in time"),
}
RECORD = """
publisher = "Office of roads, room 12"
purpose = "Plan 3 bus lines"
recipients = "Two universities"
reassess_on = 2027-11-01
contact = "roads@example.org"
[[earlier_releases]]
name = "Pilot of 2025"
published_on = 2025-05-01
overlap = "about 40 % of the people"
"""


class Marks(HTMLParser):
    """What a reader sees of a page, by its mark, and the digits that carry none; figures apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.facts: dict[str, tuple[str, str]] = {}
        self.quotes: dict[str, list[str]] = defaultdict(list)
        self.terms: set[str] = set()
        self.unmarked: list[str] = []
        self.figures = figures_of(html)
        self.text = self.title = ""
        self._open: list[tuple[str, dict[str, str]]] = []
        self._held = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name in ("aria-label", "title", "alt", "placeholder"):
            assert not any(c.isdigit() for c in given.get(name, "")), (
                "people who do not see the page read these, too"
            )
        if tag not in {"meta", "link", "br"}:
            self._open.append((tag, given))
            if self._kind(given, tag):
                self._held = ""

    def handle_endtag(self, tag: str) -> None:
        open_tag, given = self._open.pop()
        assert open_tag == tag
        kind = self._kind(given, tag)
        if kind == "fact":
            name = given["id"].removeprefix("fact-")
            assert name not in self.facts, f"{name} stands twice"
            self.facts[name] = (given["value"], self._held)
        elif kind == "quote":
            self.quotes[given["data-quote"]].append(self._held)
        elif kind == "term":
            self.terms.add(self._held)

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self._open]
        if any("data-figure" in given for _, given in self._open):
            return
        if "title" in tags:
            self.title += data
        elif not {"script", "style"} & set(tags):
            self.text += data
            self._held += data
            if any(c.isdigit() for c in data) and not any(
                self._kind(given, tag) for tag, given in self._open
            ):
                self.unmarked.append(data.strip())

    @staticmethod
    def _kind(given: dict[str, str], tag: str) -> str:
        return (
            "fact"
            if tag == "data"
            else "quote"
            if "data-quote" in given
            else "term"
            if "data-term" in given
            else ""
        )


def same(shown: str, value: float) -> bool:
    """To the four digits that a page shows; counts to the last."""
    return shown == exact(value) or (
        math.isclose(float(shown), value, rel_tol=6e-4) and not isinstance(value, int)
    )


def strength(rate: Rate, kind: str) -> tuple[bool, float, float]:
    """By which attacks are put in order: what they win of what guessing leaves, then the worst case.

    Attribution comes last where it names whole boxes, and who was mixed with whom where it is points.
    """
    assert rate.worst is not None
    gain = (rate.rate - rate.baseline) / (1 - rate.baseline) if rate.baseline < 1 else 0.0
    apart = {("attribution", "boxes"), ("cluster-pairs", "points")}
    return (rate.name, kind) not in apart, gain, rate.worst


def in_order(asked: Iterable[tuple[str, Rate]], kind: str) -> list[tuple[str, Rate]]:
    """The strongest first; of those within a percent of it the ones that name a record, then by the table."""
    ranked = sorted(asked, key=lambda one: strength(one[1], kind), reverse=True)
    told_apart, gain, _ = strength(ranked[0][1], kind) if ranked else (False, 0.0, 0.0)
    near = [one for one in ranked if strength(one[1], kind)[:2] >= (told_apart, gain - 0.01)]
    rows = list(ATTACKS)

    def place(one: tuple[str, Rate]) -> tuple[bool, int, str]:
        name = one[0].partition(":")[0]
        return ATTACKS[name].answers[one[1].name] != "link", rows.index(name), one[0]

    return [*sorted(near, key=place), *ranked[len(near) :]]


def strongest_of(asked: Iterable[tuple[str, Rate]], kind: str) -> dict[str, float]:
    """The figures of the strongest attack on the release, of those tried on at least ten people."""
    shown = (one for one in asked if one[1].target == "release" and one[1].tries >= 10)
    first = in_order(shown, kind)[0][1]
    return {
        "strongest-rate": first.rate,
        "strongest-low": first.low,
        "strongest-high": first.high,
        "strongest-guess": first.baseline,
        **({} if first.chance is None else {"strongest-chance": first.chance}),
    }


def risks_of(asked: Sequence[tuple[str, Rate]], kind: str) -> dict[str, float]:
    """The figures of each question's attacks, by what was asked of them, the strongest first."""
    found = strongest_of(asked, kind)
    for number, question in enumerate(QUESTIONS, start=1):
        own = [(text, rate) for text, rate in asked if rate.name in question.attacks]
        tried = [(text, rate) for text, rate in own if rate.target == "release"]
        for place, (text, rate) in enumerate(in_order(tried, kind), start=1):
            raw = next(r for other, r in own if (other, r.name, r.target) == (text, rate.name, "raw"))
            assert rate.worst is not None
            if min(rate.tries, raw.tries) < 10:  # of few people; not shown
                assert rate.name == "membership"
                continue
            slug = f"risk-{number}-{place}"
            found |= {
                f"{slug}-tries": rate.tries,
                f"{slug}-worst": rate.worst,
                f"{slug}-guess": rate.baseline,
            }
            found |= {} if rate.chance is None else {f"{slug}-chance": rate.chance}
            found |= {f"{slug}-rate": rate.rate, f"{slug}-low": rate.low, f"{slug}-high": rate.high}
            found |= {f"{slug}-raw-rate": raw.rate, f"{slug}-raw-low": raw.low, f"{slug}-raw-high": raw.high}
    return found


def vanished_of(
    rows: list[tuple[int, int, int, int, bool]], cell_m: float, *, private: bool = False
) -> dict[str, float]:
    """The figures of who vanished, from (subject, slot, cell east, cell north, lost) of every raw sample."""
    if not any(row[4] for row in rows):
        return {}
    side = math.ceil((max(max(r[i] for r in rows) - min(r[i] for r in rows) for i in (2, 3)) + 1) / 8)
    of_zone = defaultdict(list)
    for row in rows:
        of_zone[row[3] // side, row[2] // side].append(row)
    enough = {zone: own for zone, own in of_zone.items() if len({r[0] for r in own}) >= 10}
    share = {zone: round(20 * sum(r[4] for r in own) / len(own)) / 20 for zone, own in enough.items()}
    found: dict[str, float] = {"hidden-places": len(of_zone) - len(enough)}
    ordered = sorted((zone for zone in share if share[zone] > 0), key=lambda zone: (-share[zone], zone))
    for place, (north, east) in enumerate(ordered[:8], start=1):
        own = of_zone[north, east]
        found |= {
            f"vanished-east-{place}": (east + 0.5) * side * cell_m,
            f"vanished-north-{place}": (north + 0.5) * side * cell_m,
            f"vanished-share-{place}": share[north, east],
        }
        if private:
            found |= {f"vanished-lost-{place}": sum(r[4] for r in own), f"vanished-samples-{place}": len(own)}
            found |= {
                f"vanished-losers-{place}": len({r[0] for r in own if r[4]}),
                f"vanished-people-{place}": len({r[0] for r in own}),
            }
    return found


def gaps_of(original: Trajectories, ks: set[int]) -> dict[str, float]:
    """The k-gap at each k: median, who is hidden already, and its parts for the ten people in the middle."""
    found: dict[str, float] = {}
    for k in ks:
        gap = shoal.k_gap(original, k)
        middle = np.argsort(gap.gap, kind="stable")[(original.n_subjects - 10) // 2 :][:10]
        found |= {
            f"gap-k-{k}": k,
            f"gap-median-{k}": float(np.median(gap.gap)),
            f"gap-hidden-{k}": float((gap.gap == 0).mean()),
            f"gap-space-{k}": float(gap.space[middle].mean()) * 2 * gap.space_cap_m,
            f"gap-time-{k}": float(gap.time[middle].mean()) * 2 * gap.time_cap_s,
        }
    return found


def check_vanished_drawings(
    drawn: dict[str, Figure], rows: list[tuple[int, int, int, int, bool]], cell_m: float
) -> None:
    """Bars of hours and squares of areas, each from the rows that lie in it.

    Blank with fewer than ten people.
    """

    def share(own: list[tuple[int, int, int, int, bool]]) -> float | None:
        return round(20 * sum(r[4] for r in own) / len(own)) / 20 if len({r[0] for r in own}) >= 10 else None

    hours, squares = drawn["vanished-hour"], drawn["vanished-place"]
    expected = {hour: share([row for row in rows if row[1] * 60 // 3600 % 24 == hour]) for hour in range(24)}
    known = {hour: value for hour, value in expected.items() if value is not None}
    assert [said for _, _, said in hours.bars] == [
        f"{hour}: {percent(value)}" for hour, value in known.items()
    ]
    assert [round(x, 2) for x, _, _ in hours.bars] == pytest.approx(list(known), abs=0.02)
    assert [high for _, high, _ in hours.bars] == pytest.approx(list(known.values()), abs=2e-3)
    assert hours.table[1:] == [
        [str(hour), "\N{EN DASH}" if value is None else percent(value)] for hour, value in expected.items()
    ]
    side = math.ceil((max(max(r[i] for r in rows) - min(r[i] for r in rows) for i in (2, 3)) + 1) / 8)
    side_km = side * cell_m / 1000
    found = {
        (round(south / side_km), round(west / side_km)): (shade, said)
        for west, south, _, _, shade, said in squares.cells
    }
    assert len(found) == len(squares.cells)
    of_zone = defaultdict(list)
    for row in rows:
        of_zone[row[3] // side, row[2] // side].append(row)
    shown = {zone: value for zone, own in of_zone.items() if (value := share(own)) is not None}
    assert found == {
        zone: (math.ceil(8 * value), f"about {percent(value)} suppressed") for zone, value in shown.items()
    }
