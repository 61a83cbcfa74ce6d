"""Small HTML tables for notebooks, with every cell escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def html_table(
    title: str, rows: Iterable[Sequence[object]], *, header: Sequence[object] = (), notes: Iterable[str] = ()
) -> str:
    """An HTML table; the first cell of each row is its name. notes: paragraphs."""
    parts = [f"<table><caption>{_safe(title)}</caption>"]
    if header:
        parts.append(f"<tr>{''.join(f'<th>{_safe(cell)}</th>' for cell in header)}</tr>")
    for name, *cells in rows:
        parts.append(f"<tr><th>{_safe(name)}</th>{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>")
    parts.append("</table>")
    parts += [f"<p>{_safe(note)}</p>" for note in notes]
    return "".join(parts)


def counts_row(name: str, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """All counts by reason in one row, if any."""
    return [(name, ", ".join(f"{count:,} {reason}" for reason, count in counts.items()))] if counts else []


def _safe(cell: object) -> str:
    return escape(str(cell))
