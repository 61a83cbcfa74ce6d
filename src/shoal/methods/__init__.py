"""The published methods, one row each; a method is one file with a frozen dataclass of parameters."""

from typing import Final

from shoal.errors import MisuseError
from shoal.methods.co_location.nwa import Nwa
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.glove import Glove
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.methods.method import About, Method
from shoal.methods.static import StaticGeneralization
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations

__all__ = ["METHODS", "About", "Method", "method_named"]

_ROWS: Final[tuple[type[Method], ...]] = (
    Glove,
    KteHide,
    Nwa,
    ReachLocations,
    StaticGeneralization,
    SwapLocations,
    W4m,
)
METHODS: Final[dict[str, type[Method]]] = {method.about.name: method for method in _ROWS}


def method_named(name: str) -> type[Method]:
    """The method with this name; raises MisuseError for an unknown one."""
    if name not in METHODS:
        raise MisuseError(f"'{name}' is no method; choose from {', '.join(METHODS)}")
    return METHODS[name]
