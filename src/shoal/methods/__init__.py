"""The published methods, one row each."""

from typing import Final, TypeVar

from shoal.errors import MisuseError
from shoal.methods.co_location.nwa import Nwa
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.glove import Glove
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.methods.method import About, Method, require_complete
from shoal.methods.static import StaticGeneralization
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.runtime.registry import Registry, RowKind

__all__ = ["METHODS", "About", "Method", "method_named", "register_method"]

_ROWS: Final[tuple[type[Method], ...]] = (
    Glove,
    KteHide,
    Nwa,
    ReachLocations,
    StaticGeneralization,
    SwapLocations,
    W4m,
)
METHODS: Final[Registry[type[Method]]] = Registry(
    RowKind(word="method", name_of=lambda kind: kind.about.name, check=require_complete), _ROWS
)
Kind = TypeVar("Kind", bound=type[Method])


def register_method(kind: Kind, *, replace: bool = False) -> Kind:
    """Add a method, for ``publish``, ``anonymize``, comparisons and reports; works as a decorator.

    Parameters
    ----------
    kind
        The class of the method: a frozen dataclass with ``about``, ``claim``, ``parameters`` and
        ``anonymize``, as `shoal.Method` describes them.
    replace
        Take the place of a method that was registered before under this name.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    MisuseError
        When the class is incomplete, or its name is taken.
    """
    METHODS.register(kind, replace=replace)
    return kind


def method_named(name: str) -> type[Method]:
    """The method with this name."""
    if name not in METHODS:
        raise MisuseError(f"'{name}' is no method; choose from {', '.join(METHODS)}")
    return METHODS[name]
