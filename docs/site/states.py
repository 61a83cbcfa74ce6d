"""Pictures of state machines on the site, drawn from the Mermaid blocks of the pages without a script.

Each state is a box with a row for each of its transitions; the arrows to one state share a line.
"""

import re
from html import escape
from typing import Any, Final

_ARROW: Final = re.compile(r"^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$")
_ROW, _GAP, _LANE, _CHARACTER = 22, 16, 18, 7.2  # pixels
_END: Final = "[*]"


def replace_blocks(_app: Any, doctree: Any) -> None:
    """Put a drawing in the place of every Mermaid block of a page."""
    from docutils import nodes

    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            block.replace_self(nodes.raw("", drawing(block.astext()), format="html"))


def drawing(source: str) -> str:
    """The SVG of a state diagram; a line that is no arrow between states is an error."""
    boxes = _boxes(source)
    boxes = dict(sorted(boxes.items(), key=lambda box: not box[1]))  # states without a way on stand last
    tops, height = {}, _GAP
    for state, rows in boxes.items():
        tops[state] = height
        height += _ROW * (len(rows) + 1) + _GAP
    width = max(len(text) for state, rows in boxes.items() for text in (state, *_labels(state, rows)))
    right = round(width * _CHARACTER) + 2 * _GAP
    targets = [state for state in boxes if any(to == state for rows in boxes.values() for _, to in rows)]
    lanes = {state: right + _LANE * (place + 1) for place, state in enumerate(targets)}
    parts = [_box(state, rows, tops[state], right) for state, rows in boxes.items()]
    parts += [_line(state, boxes, tops, right, lanes[state]) for state in targets]
    whole = right + _LANE * (len(targets) + 1)
    size = f'viewBox="0 0 {whole} {height}" width="{whole}"'
    return f'<svg class="states" {size} role="img">{"".join(parts)}</svg>'


def _boxes(source: str) -> dict[str, list[tuple[str, str]]]:
    """Each state's transitions as (label, next state), in the order of the source."""
    boxes: dict[str, list[tuple[str, str]]] = {}
    for line in source.strip().splitlines()[1:]:
        found = _ARROW.match(line)
        if found is None:
            raise ValueError(f"'{line}' is no arrow of a state diagram")
        state, following, label = found.groups()
        for name in (state, following):
            if name != _END:
                boxes.setdefault(name, [])
        if _END not in (state, following):
            boxes[state].append((label or "", following))
    return boxes


def _labels(state: str, rows: list[tuple[str, str]]) -> list[str]:
    """What the rows of a state say."""
    return [label + (" (stays)" if following == state else "") for label, following in rows]


def _box(state: str, rows: list[tuple[str, str]], top: int, right: int) -> str:
    """The state's name and its rows, those that stay in it without an arrow."""
    texts = [f'<text x="{_GAP}" y="{top + 16}" class="state">{escape(state)}</text>']
    for place, label in enumerate(_labels(state, rows), 1):
        texts.append(f'<text x="{_GAP + 8}" y="{top + _ROW * place + 16}">{escape(label)}</text>')
    height = _ROW * (len(rows) + 1)
    return f'<rect x="4" y="{top}" width="{right - 4}" height="{height}" rx="4"/>{"".join(texts)}'


def _line(
    state: str, boxes: dict[str, list[tuple[str, str]]], tops: dict[str, int], right: int, lane: int
) -> str:
    """The arrows to one state: from the rows that lead to it along its lane to its name."""
    starts = [
        tops[source] + _ROW * place + 11
        for source, rows in boxes.items()
        for place, (_, following) in enumerate(rows, 1)
        if following == state != source
    ]
    if not starts:
        return ""
    end = tops[state] + 11
    along = f"M{lane},{min(*starts, end)} V{max(*starts, end)}"
    branches = "".join(f"M{right},{start} H{lane}" for start in starts)
    head = f"M{lane},{end} H{right + 2} m6,-4 l-6,4 l6,4"
    joints = "".join(f'<circle cx="{lane}" cy="{start}" r="2.5"/>' for start in starts)
    return f'<path d="{along} {branches} {head}"/>{joints}'
