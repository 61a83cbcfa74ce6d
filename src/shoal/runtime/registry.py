"""Tables of rows by name, which notebooks and packages extend."""

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from shoal.errors import MisuseError

Row = TypeVar("Row")
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def require_row_name(name: object, word: str) -> None:
    """Raise MisuseError for a name that options, files and manifests could not hold."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise MisuseError(
            f"the name {name!r} of a row must be small letters, digits, and hyphens between words: my-{word}"
        )


@dataclass(frozen=True, kw_only=True)
class RowKind(Generic[Row]):
    """What a table's rows have in common."""

    word: str  # for messages, and the group of entry points: ``method`` reads ``shoal.methods``
    name_of: Callable[[Row], str]  # the name of a row
    check: Callable[[Row], None]  # raises MisuseError for a row that is incomplete


class Registry(MutableMapping[str, Row]):
    """Rows by name: shoal's, registered, and installed packages' (entry points)."""

    # Entry points are loaded once, when a name is unknown, or when all are listed. Shoal's ``rows`` are in
    # their order and cannot be replaced by ``register``.

    def __init__(self, kind: RowKind[Row], rows: Iterable[Row]) -> None:
        self._kind = kind
        self._rows = {kind.name_of(row): row for row in rows}
        self._shoals = frozenset(self._rows)
        self._is_loaded = False

    def register(self, row: Row, *, replace: bool = False) -> None:
        """Add a row; raises MisuseError when it is incomplete or taken."""
        # replace: a row that was registered before, as when a cell of a notebook runs again
        self._kind.check(row)
        name, word = self._kind.name_of(row), self._kind.word
        if name in self._shoals:
            raise MisuseError(f"'{name}' is a {word} of shoal; give yours another name")
        if name in self and not replace:
            raise MisuseError(
                f"a {word} '{name}' is registered already; give yours another name, or "
                "replace it with replace=True"
            )
        self._rows[name] = row

    def is_shoals(self, name: str) -> bool:
        """Whether a row is one of shoal's, whose code changes with the version alone."""
        return name in self._shoals

    def _load_entry_points(self) -> None:
        if self._is_loaded:
            return
        from importlib.metadata import entry_points  # slow, and most commands need none

        self._is_loaded = True  # a package that is loaded may look up rows itself
        group = f"shoal.{self._kind.word}s"
        for entry in entry_points(group=group):
            package = "an installed package" if entry.dist is None else entry.dist.name
            try:
                self.register(entry.load())
            except Exception as error:
                self._is_loaded = False
                raise MisuseError(
                    f"{package} offers the {self._kind.word} '{entry.name}', which cannot be used: {error}; "
                    "update or uninstall the package"
                ) from error

    def __getitem__(self, name: str) -> Row:
        if name not in self._rows:
            self._load_entry_points()
        return self._rows[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._rows:
            self._load_entry_points()
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        self._load_entry_points()
        return iter(self._rows)

    def __len__(self) -> int:
        self._load_entry_points()
        return len(self._rows)

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]
