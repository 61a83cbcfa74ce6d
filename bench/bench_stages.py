"""What each stage of a publication takes, and how it grows with the number of people.

    python bench/bench_stages.py [--subjects 1000 5000 20000 82000] [--layout city] [--k 2] [--output FOLDER]

Runs `shoal anonymize --timings --json` as a user would, with kernels compiled by a small run before. Prints a
table of CPU seconds, the growth exponent of each stage between the smallest and the largest size, and the
ratio of everything to reading, method and writing alone; with --output it also writes stages.json and a plot
of stacked bars, stages.html. Exponents of stages below half a CPU second say nothing and are left out.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shoal.synthetic import write_synthetic

ALONE = ("reading", "method", "writing")
LEAST_S = 0.5
SHOWN = 11
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
WARM_UP = 300


def timed(city: Path, folder: Path, k: int, words: list[str]) -> list[dict[str, Any]]:
    """The stages of one publication."""
    command = [sys.executable, "-m", "shoal", "anonymize", str(city), "--k", str(k), "--output", str(folder)]
    quietly = ["--research-seed", "1", "--timings", "--json", "--quiet", *words]
    told = subprocess.run([*command, *quietly], check=True, capture_output=True)
    stages: list[dict[str, Any]] = json.loads(told.stdout)["timings"]
    return stages


def growth(small: float, large: float, times: float) -> float | None:
    """The exponent with which the seconds grow, None where they are too few to tell."""
    return math.log(large / small) / math.log(times) if min(small, large) >= LEAST_S else None


def summary(runs: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
    """CPU seconds of each stage by size, exponents, ratios and peaks."""
    sizes = sorted(runs)
    cpu_s = {size: {stage["stage"]: stage["cpu_s"] for stage in runs[size]} for size in sizes}
    names = list(dict.fromkeys(name for size in sizes for name in cpu_s[size]))
    times = sizes[-1] / sizes[0]
    return {
        "cpu_s": {name: [cpu_s[size].get(name, 0.0) for size in sizes] for name in names},
        "sizes": sizes,
        "exponents": {
            name: growth(cpu_s[sizes[0]].get(name, 0.0), cpu_s[sizes[-1]].get(name, 0.0), times)
            for name in names
        }
        if times > 1
        else {},
        "ratio": [sum(cpu_s[size].values()) / sum(cpu_s[size][name] for name in ALONE) for size in sizes],
        "peak_bytes": [max((stage["peak_bytes"] or 0) for stage in runs[size]) for size in sizes],
    }


def table(found: dict[str, Any]) -> list[str]:
    """Lines for people."""
    lines = [f"{'CPU seconds':24}" + "".join(f"{size:>10,}" for size in found["sizes"]) + "  exponent"]
    for name, seconds in found["cpu_s"].items():
        exponent = found["exponents"].get(name)
        lines.append(
            f"{name:24}"
            + "".join(f"{value:>10.2f}" for value in seconds)
            + ("" if exponent is None else f"{exponent:>10.2f}")
        )
    whole = [sum(column) for column in zip(*found["cpu_s"].values(), strict=True)]
    lines.append(f"{'all':24}" + "".join(f"{value:>10.2f}" for value in whole))
    lines.append(f"{'to the method alone':24}" + "".join(f"{ratio:>9.1f}x" for ratio in found["ratio"]))
    lines.append(
        f"{'peak memory, MiB':24}" + "".join(f"{peak / 2**20:>10,.0f}" for peak in found["peak_bytes"])
    )
    return lines


def plot(found: dict[str, Any], path: Path) -> None:
    """Stacked bars, one for each size; the smaller stages together."""
    import plotly.graph_objects as go

    figure = go.Figure()
    most = sorted(found["cpu_s"], key=lambda name: -found["cpu_s"][name][-1])
    rest = [sum(found["cpu_s"][name][i] for name in most[SHOWN:]) for i in range(len(found["sizes"]))]
    stacked = {name: found["cpu_s"][name] for name in most[:SHOWN]} | {"smaller stages": rest}
    for number, (name, seconds) in enumerate(stacked.items()):
        figure.add_bar(
            name=name,
            x=[f"{size:,}" for size in found["sizes"]],
            y=[1000 * value / size for value, size in zip(seconds, found["sizes"], strict=True)],
            marker={
                "color": COLORS[number % len(COLORS)],
                "pattern_shape": "/" if number >= len(COLORS) else "",
            },
        )
    figure.update_layout(
        barmode="stack",
        legend={"traceorder": "normal"},
        xaxis_title="people",
        yaxis_title="CPU seconds a thousand people",
        template="none",
    )
    figure.write_html(path, include_plotlyjs=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, nargs="+", default=[1000, 5000, 20_000, 82_000])
    options.add_argument("--layout", choices=("city", "nation"), default="city")
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--k", type=int, default=2)
    options.add_argument("--output", type=Path)
    options.add_argument("words", nargs="*", help="further words for shoal anonymize, after --")
    asked = options.parse_args()
    runs: dict[int, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (WARM_UP, *sorted(asked.subjects)):
            city = folder / f"{size}.parquet"
            write_synthetic(city, size, asked.days, 1, layout=asked.layout)
            runs[size] = timed(city, folder / f"release-{size}", asked.k, asked.words)
            city.unlink()
    if WARM_UP not in asked.subjects:
        del runs[WARM_UP]
    found = summary(runs)
    print("\n".join(table(found)))
    if asked.output is not None:
        asked.output.mkdir(parents=True, exist_ok=True)
        (asked.output / "stages.json").write_text(json.dumps(found, indent=2))
        plot(found, asked.output / "stages.html")


if __name__ == "__main__":
    main()
