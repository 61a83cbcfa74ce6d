"""Make the notebooks of examples/ from pages of docs/: python docs/site/notebook.py.

A python block is a code cell, the text block right after it is the cell's output, and the rest is text.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
NAMES: Final = ("tutorial", "notebook")

_BLOCK: Final = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def page_of(name: str) -> Path:
    """A page that is also a notebook."""
    return ROOT / "docs" / f"{name}.md"


def file_of(name: str) -> Path:
    """Its notebook."""
    return ROOT / "examples" / f"{name}.ipynb"


def steps(page: str) -> list[tuple[str, str]]:
    """Each python block of a page and what it prints, empty where the page does not say."""
    return [(block.group(1), block.group(2) or "") for block in _BLOCK.finditer(page)]


def notebook(page: str) -> str:
    """The notebook's file: the page's text with links from examples/, its blocks and what they print."""
    cells, end = [], 0
    for block in _BLOCK.finditer(page):
        cells += [_text(page[end : block.start()]), _code(block.group(1), block.group(2) or "")]
        end = block.end()
    cells.append(_text(page[end:]))
    made = {
        "cells": [
            {"id": f"cell-{i}", **cell} for i, cell in enumerate(cell for cell in cells if cell["source"])
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _text(text: str) -> dict[str, Any]:
    """A cell of Markdown; links and pictures of the page lie in docs/."""
    linked = re.sub(r"\]\((?!https?:|#)", "](../docs/", text.strip())
    return {"cell_type": "markdown", "metadata": {}, "source": linked.splitlines(keepends=True)}


def _code(code: str, printed: str) -> dict[str, Any]:
    """A cell of code with what it prints."""
    output = {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [output] if printed else [],
        "source": code.rstrip("\n").splitlines(keepends=True),
    }


if __name__ == "__main__":
    for name in NAMES:
        file_of(name).write_text(notebook(page_of(name).read_text(encoding="utf-8")), encoding="utf-8")
