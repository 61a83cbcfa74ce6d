"""Closed documents, and growing ones that may have further entries."""

from dataclasses import fields
from inspect import get_annotations
from typing import Any, ClassVar, Final, get_type_hints

from pydantic import ConfigDict, GetCoreSchemaHandler, with_config
from pydantic_core import CoreSchema
from typing_extensions import TypedDict

closed: Final = with_config(ConfigDict(extra="forbid", strict=True))
growing: Final = with_config(ConfigDict(extra="allow", strict=True))
Counts = dict[str, int]


class Shown:
    """A closed document with the entries of a dataclass, ``of``, and those that it says itself."""

    _type: ClassVar[Any]

    def __init_subclass__(cls, of: Any) -> None:
        hints = get_type_hints(of)
        entries = {field.name: hints[field.name] for field in fields(of)} | get_annotations(cls)
        cls._type = closed(TypedDict(cls.__name__, entries))  # type: ignore[operator]  # of names that are known when it runs
        cls._type.__doc__ = cls.__doc__

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(cls._type)
