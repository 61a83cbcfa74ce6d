"""The API reference, derived from `shoal.__all__`: one page for each room that has public names."""

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import shoal
from shoal.runtime.stubs import homes_in

ROOMS: Final = {
    "io": "Reading",
    "model": "Data, releases, claims, verdicts",
    "measures": "Measures",
    "methods": "Methods",
    "publishing": "Publishing",
    "release_folder": "Release folders",
    "verification": "Verification",
    "attacks": "Attacks",
    "utility": "Utility",
    "comparison": "Comparison",
    "report": "Reports",
    "scale": "Scale",
    "collect": "The user-centric protocol",
    "synthetic": "Synthetic people",
    "runtime": "Runs and randomness",
    "errors": "Errors",
}
"""The rooms of the public names, in the order in which a reader needs them."""

FOREIGN: Final = [
    # names of other libraries (no inventory of theirs can be fetched offline), and numpydoc's words for types
    (r"py:.*", r"^(?!shoal\b).*"),
]

_ALL: Final = frozenset(shoal.__all__)
_HOME_OF: Final = homes_in(str(shoal.__file__))


def rooms() -> dict[str, list[str]]:
    """The public names of each room; an unknown room is an error, so that no name is left out."""
    found: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in sorted(_ALL - {"__version__"}):
        found[_HOME_OF[name].removeprefix("shoal.").split(".")[0]].append(name)
    return {room: names for room, names in found.items() if names}


def write_pages(app: Any) -> None:
    """One page for each room and a page that lists them; a file is touched only when its text changes."""
    if app.tags.has("without_reference"):
        return
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    pages = {room: _page(room, names) for room, names in rooms().items()}
    toctree = "\n".join(f"   {room}" for room in pages)
    title = _title("API reference")
    pages["index"] = (
        f"{title}\nEvery public name stands in ``shoal.__all__`` and is used as ``shoal.NAME``.\n\n"
        f".. toctree::\n   :maxdepth: 2\n\n{toctree}\n"
    )
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """The page of a public name that a signature gives by its module; any other name stays text."""
    target = node.get("reftarget", "")
    name = target.split(".")[-1]
    if node.get("refdomain") != "py" or not (target.startswith("shoal.") or name in _ALL):
        return None
    if name not in _ALL:
        module = import_module(target.rpartition(".")[0])  # a misspelled name is an error here
        return contnode if hasattr(module, name) else None
    python = env.get_domain("py")
    kind = "class" if inspect.isclass(getattr(shoal, name)) else "obj"
    return python.resolve_xref(env, node["refdoc"], app.builder, kind, f"shoal.{name}", node, contnode)


def _page(room: str, names: list[str]) -> str:
    """The page of a room: what its module says of it, then each public name."""
    module = import_module(f"shoal.{room}")
    about = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0]
    return _title(ROOMS[room]) + f"\n{about}\n\n" + "\n".join(_entry(name) for name in names)


def _entry(name: str) -> str:
    """The directive that documents one public name."""
    value = getattr(shoal, name)
    if inspect.isclass(value):
        return f".. autoclass:: shoal.{name}\n"
    if inspect.isroutine(value):
        return f".. autofunction:: shoal.{name}\n"
    rows = value.items() if isinstance(value, Mapping) else ((row, None) for row in value)
    listed = "".join(f"   - {_row(key, row)}\n" for key, row in rows)
    return f".. py:data:: shoal.{name}\n\n   One row each:\n\n{listed}"


def _row(key: Any, row: Any) -> str:
    """A row of a public table: its name, and its class where that is public."""
    named = row if inspect.isclass(row) else key
    text = f"``{key}``" if isinstance(key, str) else ""
    public = inspect.isclass(named) and named.__name__ in _ALL
    return f"{text} :py:class:`shoal.{named.__name__}`".strip() if public else text or f"``{key!r}``"


def _title(text: str) -> str:
    """A heading in reStructuredText."""
    return f"{text}\n{re.sub('.', '=', text)}\n"
