"""A package's public names, which its ``__init__.pyi`` lists with where each lives."""

import ast
from pathlib import Path


def homes_in(package: str) -> dict[str, str]:
    """The module of each public name, by the stub beside a package's ``__init__.py``."""
    return {
        row.name: each.module or ""
        for each in ast.parse(Path(package).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(each, ast.ImportFrom)
        for row in each.names
    }
