"""Drawings as SVG: shapes lie where the axes say, and nothing in them reads as a name."""

import re

import numpy as np
import pytest

from figures import Figure, figures_of, value_of
from shoal.report.figures import axes
from shoal.report.figures.axes import Axis
from shoal.report.figures.drawing import (
    GRAY,
    SYMBOLS,
    Areas,
    Bars,
    Cells,
    Drawing,
    Layer,
    Line,
    Marks,
    Places,
)
from shoal.report.figures.maps import density_cells
from shoal.report.figures.svg import draw_svg

NASTY = "<script>alert('x')</script>\"&"
SHARES = axes.of_shares("share")


def shown(
    *layers: Layer, x: Axis | None = None, y: Axis | None = None, numbers: str = ""
) -> tuple[str, Figure]:
    drawing = Drawing(
        x=x or axes.linear("across", 0, 10), y=y or SHARES, layers=layers, legend=True, numbers=numbers
    )
    svg = draw_svg(drawing, "a label")
    page = f'<div class="plot" id="plot-it" data-figure>{svg}</div><figcaption>'
    return svg, figures_of(page)["it"]


EVERY: list[Layer] = [
    Line(
        name="line", number=1, marked=True,
        x=[1, 5, None, 9, 9.5], y=[0.1, 0.9, 0.5, 0.3, float("nan")], margins=[0.1, None, 0, 0.2, None],
    ),
    Line(name="steps", x=[1, 2, 3], y=[0.2, 0.4, 0.8], number=2, steps=True),
    *(Marks(name=symbol, x=[4.0], y=[0.5], number=3, symbol=symbol, hollow=True) for symbol in SYMBOLS),
    Marks(name="said", x=[2.0], y=[0.25], number=4, words=["what"], ranges=[(1.0, 3.0)]),
    Bars(name="bars", x=[5.0, 6.0], heights=[0.5, None], number=5),
    Areas(name="area", x=[1, 2, 2, 1, None], y=[0.1, 0.1, 0.2, 0.2, None], number=GRAY),
    Cells(
        x=(0, 10), y=(0, 1), shades=[[1, 1, None], [8, 2, 2]], palette="blues", title="key", scale=[1, 2, 8],
        labels=[(0.0, "0.1"), (3.0, "1")],
    ),
    Cells(
        x=(0, 5), y=(0, 0.5), shades=[[1, None]], palette="reds", title="", scale=[1], labels=[],
        words=[["said", ""]],
    ),
    Places(names=["Northport"], x=[9.9], y=[0.999]),
]  # fmt: skip


def test_shapes_lie_where_the_axes_say() -> None:
    _, figure = shown(*EVERY)
    near = 2 * figure.x.unit
    assert figure.lines["line"] == [
        pytest.approx(point, abs=near) for point in ((1, 0.1), (5, 0.9), (9, 0.3))
    ]
    assert figure.lines["steps"] == [
        pytest.approx(point, abs=near) for point in ((1, 0.2), (2, 0.4), (3, 0.8))
    ]
    assert figure.marks["said"] == [pytest.approx((2, 0.25), abs=near)]
    assert figure.outlines["area"] == [
        [pytest.approx(point, abs=near) for point in ((1, 0.1), (2, 0.1), (2, 0.2), (1, 0.2))]
    ]
    assert [(round(x, 1), round(high, 2), said) for x, high, said in figure.bars] == [(5.0, 0.5, "5: 50 %")]
    raster, squares = figure.cells[:5], figure.cells[5:]
    assert sorted((round(west, 1), round(south, 1), shade) for west, south, _, _, shade, _ in raster) == [
        (0.0, 0.0, 1), (0.0, 0.5, 8), (3.3, 0.0, 1), (3.3, 0.5, 2), (6.7, 0.5, 2)
    ]  # fmt: skip
    assert [(round(one[2], 1), round(one[3], 1), *one[4:]) for one in squares] == [(2.5, 0.5, 1, "said")]
    assert figure.names == ["Northport"]
    assert [text for _, text in figure.key] == ["0.1", "1"]


def test_no_coordinate_reads_as_a_name_and_no_text_as_a_tag() -> None:
    svg, figure = shown(*EVERY)
    paths = re.findall(r' d="([^"]*)"', svg)
    assert len(paths) > 12
    assert [path for path in paths if re.search(r"[A-Za-z]\d|\d[A-Za-z]|\d-|[^-\d.A-Za-z ]", path)] == []
    assert not re.search(r"<script|style=|href|on[a-z]+=|nan|inf\b", svg)
    nasty: list[Layer] = [
        Marks(name=NASTY, x=[1.0], y=[0.5], number=0, words=[NASTY]),
        Places(names=[NASTY], x=[1.0], y=[0.5]),
    ]
    svg, figure = shown(*nasty, x=axes.linear(NASTY, 0, 10))
    assert "<script" not in svg
    assert figure.legend == figure.names == [NASTY]
    assert figure.titles == [NASTY, "share"]


def test_a_figure_says_what_it_shows() -> None:
    svg, figure = shown(*EVERY[:2], numbers="each")
    assert (figure.label, svg.count('role="img"')) == ("a label", 1)
    assert figure.described == "Across: across, 0 to 10. Up: share, 0 % to 100 %. Shown: line, steps."
    assert figure.legend == ["line", "steps"]
    dash = "\N{EN DASH}"
    assert figure.table == [
        ["across", "line", "steps"],
        ["1", "10 %", "20 %"],
        ["5", "90 %", dash],
        ["9", "30 %", dash],
        ["9.5", dash, dash],
        ["2", dash, "40 %"],
        ["3", dash, "80 %"],
    ]
    _, figure = shown(Line(name="rising", x=[1, 2, 4], y=[0.1, 0.6, 0.7], number=0), numbers="levels")
    assert figure.table[1:] == [["5 %", "1"], ["10 %", "1"], ["25 %", "2"], ["50 %", "2"]]


def test_of_many_marks_some_are_drawn_and_the_figure_says_so() -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0, 10, 9_000).tolist(), rng.uniform(0, 1, 9_000).tolist())
    many = [Marks(name=f"member {at}", x=x, y=y, number=at, symbol=SYMBOLS[at]) for at in range(6)]
    svg, figure = shown(*many)
    found = re.search(r"one mark in (\d+) is drawn", svg)
    assert found is not None
    assert 10 < int(found[1]) <= 14
    assert {len(own) * int(found[1]) // 3_000 for own in figure.marks.values()} <= {2, 3}
    assert 3_700 <= sum(map(len, figure.marks.values())) <= 4_006
    assert len(svg) < 500_000
    alike, figure = shown(Marks(name="alike", x=[1.0] * 9_000, y=[0.5] * 9_000, number=1))
    assert ("is drawn" in alike, len(figure.marks["alike"])) == (False, 1)


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (axes.linear("", 0, 0.31), ["0.0", "0.1", "0.2", "0.3"]),
        (axes.linear("", -7, 12), ["-5", "0", "5", "10"]),
        (axes.linear("", 3, 3), ["3.0", "3.2", "3.4", "3.6", "3.8", "4.0"]),
        (axes.linear("", 0, 4, whole=True), ["0", "1", "2", "3", "4"]),
        (axes.linear("", 0, 2_600_000), ["0", "1,000,000", "2,000,000"]),
        (axes.linear("", 0, 1e-9), ["0", "2e-10", "4e-10", "6e-10", "8e-10", "1e-09"]),
        (axes.from_zero("", [0.034, None], unit="share"), ["0 %", "1 %", "2 %", "3 %"]),
        (axes.from_zero("", [19_000.0], unit="m"), ["0 km", "5 km", "10 km", "15 km", "20 km"]),
        (axes.from_zero("", [900.0], unit="m"), ["0 m", "200 m", "400 m", "600 m", "800 m"]),
        (axes.from_zero("", [9_000.0], unit="s"), ["0 h", "1 h", "2 h"]),
        (axes.from_zero("", [], unit="s"), ["0.0 s", "0.5 s", "1.0 s"]),
        (axes.of_names("", [f"{at} of many" for at in range(12)]), ["0 of many", "4 of many", "8 of many"]),
        (
            axes.of_extents("", 160, 50_000, 2_000.0, spatial=True),
            ["500 m", "2 km", "10 km", "50 km"],
        ),
    ],
)
def test_labels_are_round_and_have_room(axis: Axis, labels: list[str]) -> None:
    assert [text for _, text in axis.ticks] == labels
    places = [axis.share(value) for value, _ in axis.ticks]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert places == sorted(places)


def test_a_map_is_to_scale_and_a_strip_gets_room() -> None:
    seen = 0
    for x, y in (
        ((0.0, 10.0), (0.0, 8.0)),
        ((0.0, 30.0), (0.0, 1.0)),
        ((0.0, 1.0), (0.0, 30.0)),
        ((5.0, 5.0), (2.0, 2.0)),
    ):
        east, north, height = axes.of_a_map("", "", x, y)
        assert (north.high - north.low) / (east.high - east.low) == pytest.approx(height)
        assert 0.3 <= height <= 1.35
        assert east.low <= x[0] <= x[1] <= east.high
        assert north.low <= y[0] <= y[1] <= north.high
        svg = draw_svg(Drawing(x=east, y=north, layers=[], height=height, in_km=True), "a map")
        bar = re.search(r'class="scale" d="M (\S+) \S+ v 4 H (\S+) v -4"/><text[^>]*>([^<]*)<', svg)
        frame = re.search(r'class="inside" x="\S+" y="\S+" width="(\S+)"', svg)
        assert bar is not None
        assert frame is not None
        km = (float(bar[2]) - float(bar[1])) / float(frame[1]) * (east.high - east.low)
        assert 1000 * km == pytest.approx(value_of(bar[3]), rel=0.02)
        seen += 1
    assert seen == 4


@pytest.mark.parametrize("values", [[], [5.0], [0.3, 0.31], [1e-7, 1.0, 3e4], [10.0, 100.0]])
def test_shades_are_halves_of_powers_of_ten_below_the_densest(values: list[float]) -> None:
    cells = density_cells(np.array([[*values, 0.0]]), (0, 1), (0, 1), "boxes")
    *shades, blank = cells.shades[0]
    assert blank is None
    assert len(shades) == len(values)
    for value, shade in zip(values, shades, strict=True):
        assert shade is not None
        place = cells.scale.index(shade)
        at = 2 * np.log10(value)
        decade = next((2 * np.log10(float(text.replace(",", ""))), where) for where, text in cells.labels)
        below = at - decade[0] + decade[1]
        assert place <= below < place + 1 or (place == 0 and below < 0)
    assert not values or max(shade for shade in shades if shade) == 8
    assert 2 <= len(cells.scale) <= 8
