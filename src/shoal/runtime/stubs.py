"""A package's public names, which its ``__init__.pyi`` lists with where each lives."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def homes_in(package: str) -> dict[str, str]:
    """The module of each public name, by the stub beside a package's ``__init__.py``."""
    return {
        row.name: each.module or ""
        for each in ast.parse(Path(package).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(each, ast.ImportFrom)
        for row in each.names
    }


def on_first_use(package: str, file: str) -> tuple[list[str], Callable[[str], Any]]:
    """``__all__`` and ``__getattr__`` of a package with such a stub: each name is loaded when it is used."""
    home_of = homes_in(file)

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(home_of[name]), name)
        # name and obj let Python add "Did you mean ...?"
        text = f"module '{package}' has no attribute '{name}'"
        raise AttributeError(text, name=name, obj=sys.modules[package])

    return sorted(home_of), get
