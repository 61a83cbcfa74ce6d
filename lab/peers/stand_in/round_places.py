"""A program of nobody's: rounds places to a grid of delta, and leaves out one point in ten."""

import sys
from pathlib import Path

source, target, delta = sys.argv[1], sys.argv[2], float(sys.argv[3])
rows = []
for number, line in enumerate(Path(source).read_text().splitlines()):
    who, t, x, y = line.split("\t")
    if number % 10:
        rows.append(f"{who}\t{t}\t{round(float(x) / delta) * delta}\t{round(float(y) / delta) * delta}")
Path(target).write_text("\n".join(rows) + "\n")
