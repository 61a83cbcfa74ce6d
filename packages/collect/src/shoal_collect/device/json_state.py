"""A device's state as JSON and back, with shared references.

Reading runs no code: objects are made without constructors, and only of the protocol's classes in this
package.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from importlib import import_module
from typing import Any, Final

import gmpy2
from pydantic import BaseModel

from shoal.errors import InputError

_PACKAGE: Final = "shoal_collect."
_PARTS: Final = ("crypto.", "matching.", "mix.", "roles.")
_MPZ: Final = type(gmpy2.mpz())


class NotAStateError(InputError):
    """No state of this version's classes."""


def encode(value: Any) -> Any:
    """Values and objects to JSON; TypeError for others (a caller's bug)."""
    return _Writer().write(value)


def decode(document: Any) -> Any:
    """Reverse ``encode``."""
    try:
        return _Reader().read(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise NotAStateError(f"no state of a device ({type(error).__name__})") from error


class _Writer:
    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._held: list[Any] = []  # so that no number of an object is given to another one

    def write(self, value: Any) -> Any:  # noqa: PLR0911  (one for each kind of value)
        if value is None or isinstance(value, bool | float) or type(value) in (int, str):
            return value
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, _MPZ):
            return {"mpz": format(int(value), "x")}
        if isinstance(value, Enum):
            return {"enum": _name_of(type(value)), "of": value.name}
        if type(value) is tuple:
            return {"tuple": [self.write(item) for item in value]}
        if type(value) is frozenset:
            return {"frozenset": [self.write(item) for item in value]}
        if isinstance(value, BaseModel):
            return {"model": _name_of(type(value)), "fields": value.model_dump(mode="json")}
        if id(value) in self._seen:
            return {"same": self._seen[id(value)]}
        self._seen[id(value)] = number = len(self._held)
        self._held.append(value)
        if type(value) is list:
            return {"list": [self.write(item) for item in value], "number": number}
        if type(value) is set:
            return {"set": [self.write(item) for item in value], "number": number}
        if type(value) is dict:
            pairs = [[self.write(key), self.write(item)] for key, item in value.items()]
            return {"dict": pairs, "number": number}
        fields = {name: self.write(item) for name, item in vars(value).items()}
        return {"object": _name_of(type(value)), "fields": fields, "number": number}


class _Reader:
    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}

    def read(self, document: Any) -> Any:
        if document is None or isinstance(document, bool | int | float | str):
            return document
        (kind, content), *_ = document.items()
        return self._kinds[kind](content, document)

    @property
    def _kinds(self) -> Mapping[str, Callable[[Any, Any], Any]]:
        return {
            "bytes": lambda content, _: bytes.fromhex(content),
            "mpz": lambda content, _: gmpy2.mpz(int(content, 16)),
            "enum": lambda content, document: _class_of(content, Enum)[document["of"]],
            "tuple": lambda content, _: tuple(map(self.read, content)),
            "frozenset": lambda content, _: frozenset(map(self.read, content)),
            "model": lambda content, document: _class_of(content, BaseModel).model_validate(
                document["fields"]
            ),
            "same": lambda content, _: self._objects[content],
            "list": self._list,
            "set": self._set,
            "dict": self._dict,
            "object": self._object,
        }

    def _list(self, content: Any, document: Any) -> Any:
        items: list[Any] = []
        self._objects[document["number"]] = items
        items.extend(map(self.read, content))
        return items

    def _set(self, content: Any, document: Any) -> Any:
        items: set[Any] = set()
        self._objects[document["number"]] = items
        items.update(map(self.read, content))
        return items

    def _dict(self, content: Any, document: Any) -> Any:
        items: dict[Any, Any] = {}
        self._objects[document["number"]] = items
        items.update((self.read(key), self.read(item)) for key, item in content)
        return items

    def _object(self, content: Any, document: Any) -> Any:
        kind = _class_of(content, object)
        instance = kind.__new__(kind)
        self._objects[document["number"]] = instance
        for name, item in document["fields"].items():
            if hasattr(kind, name) and callable(getattr(kind, name)):
                raise NotAStateError("no state of a device (a field in the place of a method)")
            vars(instance)[str(name)] = self.read(item)
        return instance


def _name_of(kind: type) -> str:
    if not kind.__module__.startswith(_PACKAGE):
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} is nothing that a device keeps")
    return f"{kind.__module__.removeprefix(_PACKAGE)}:{kind.__qualname__}"


def _class_of(name: str, base: Any) -> Any:
    module, _, class_name = name.partition(":")
    if not module.startswith(_PARTS) or not module.replace(".", "").replace("_", "").isalnum():
        raise NotAStateError("no state of a device (a class of another package)")
    try:
        kind = getattr(import_module(_PACKAGE + module), class_name)
    except (ImportError, AttributeError) as error:
        raise NotAStateError("a state of another version of shoal (a class that this one lacks)") from error
    if not isinstance(kind, type) or kind.__module__ != _PACKAGE + module or not issubclass(kind, base):
        raise NotAStateError("no state of a device (not a class of the protocol)")
    return kind
