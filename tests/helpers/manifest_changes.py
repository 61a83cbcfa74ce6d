"""Each entry of a manifest, and the manifests in which one entry is another, absent, or has another name."""

import copy
from collections.abc import Callable, Iterator
from typing import Any


def entries_of(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield (*path, key), value
        yield from entries_of(value, (*path, key))


def others(value: Any) -> Iterator[Any]:
    """Other values in place of one."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str():
            yield from (value + "x", None)
        case None:
            yield from ("a", 1, 1.0, False)
        case dict():
            yield from (value | {"zz": 0}, value | {"zz": 7})
        case _:
            yield [*value, "zz"]


def changes(manifest: dict[str, Any], path: tuple[Any, ...], value: Any) -> Iterator[dict[str, Any]]:
    """The manifest with another value of one entry, without the entry, and with another name of it."""

    def edited(change: Callable[[Any], object]) -> dict[str, Any]:
        copied = at = copy.deepcopy(manifest)
        for key in path[:-1]:
            at = at[key]
        change(at)
        return copied

    def rename(at: Any) -> None:
        entries = list(at.items())
        at.clear()
        at.update((key + "x" * (key == path[-1]), entry) for key, entry in entries)

    def put(other: Any) -> Callable[[Any], None]:
        return lambda at: at.__setitem__(path[-1], other)

    yield from (edited(put(other)) for other in others(value))
    yield edited(lambda at: at.__delitem__(path[-1]))
    if isinstance(path[-1], str):
        yield edited(rename)
