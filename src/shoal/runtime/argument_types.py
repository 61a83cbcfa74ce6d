"""Refuse arguments of other types than annotated, in words."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Protocol, TypeVar, Union, get_args, get_origin

from shoal.errors import MisuseError, ShoalError
from shoal.units import is_number, is_whole

Called = TypeVar("Called", bound=Callable[..., Any])

_TESTS: Final[dict[Any, tuple[Callable[[Any], bool], str]]] = {
    bool: (lambda value: type(value).__name__ in {"bool", "bool_"}, "True or False"),
    int: (is_whole, "a whole number"),
    float: (is_number, "a number"),
    str: (lambda value: isinstance(value, str), "text"),
    Path: (lambda value: isinstance(value, Path), "a path"),
    NoneType: (lambda value: value is None, "None"),
}
# by model/argument_checks.py
_CHECKED_LATER: Final = {"Trajectories", "Release", "Linkage", "Randomness"}


def typed(called: Called) -> Called:
    """Have a public function, or the constructor of a class, refuse arguments of other types.

    Numbers of NumPy are numbers, and text where a path is annotated becomes one. What annotations do not say,
    such as bounds, the function checks itself.

    MisuseError at a call names the argument, the value and the type.

    >>> @typed
    ... def double(number: float) -> float:
    ...     return 2 * number
    >>> double("500m")
    Traceback (most recent call last):
    shoal.errors.MisuseError: number = '500m' is not a number
    """
    if isinstance(called, type):
        called.__init__ = _typed(called.__init__, own_words=True)  # type: ignore[misc]  # of this class alone
        return called
    return _typed(called, own_words=False)


def _typed(called: Called, *, own_words: bool) -> Called:
    """own_words: call it first, for an error of its own that also names bounds."""
    signature = inspect.signature(called)

    @cache
    def hints() -> dict[str, Any]:  # at the first call, when the module is complete
        return {name: _hint(called, entry) for name, entry in signature.parameters.items()}

    @wraps(called)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return called(*args, **kwargs)  # whose error names the function
        for name, value in bound.arguments.items():
            hint = hints()[name]
            if isinstance(value, str) and _is_path(hint):
                bound.arguments[name] = Path(value)
            elif not _takes(hint, value):
                if own_words:
                    _raise_own_error(called, args, kwargs)
                raise MisuseError(_complaint(name, value, hint))
        return called(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]  # the same signature


def show_value(value: object) -> str:
    """A setting as written, or its type: others may hold people's data."""
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain and len(repr(value)) <= 60 else f"(of type {type(value).__name__})"


def _raise_own_error(called: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        called(*args, **kwargs)
    except ShoalError:
        raise
    except Exception:  # noqa: S110  # of a library that met the wrong type
        pass


def _hint(called: Callable[..., Any], entry: inspect.Parameter) -> Any:
    if entry.kind in {entry.VAR_KEYWORD, entry.VAR_POSITIONAL} or entry.annotation is entry.empty:
        return Any
    if not isinstance(entry.annotation, str):
        return entry.annotation
    try:
        return eval(entry.annotation, called.__globals__)  # noqa: S307  # what the module itself wrote
    except NameError:  # imported for type checkers alone
        return Any


def _is_path(hint: Any) -> bool:
    return hint is Path or (get_origin(hint) in {Union, UnionType} and {*get_args(hint)} == {Path, NoneType})


def _takes(hint: Any, value: object) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return {Path, str} <= {*parts} or any(_takes(part, value) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if isinstance(hint, type) and hint in _TESTS:
        return _TESTS[hint][0](value)
    if _is_list(hint):
        listed = isinstance(value, Iterable) and not isinstance(value, str)
        whole = not isinstance(value, (list, tuple, set)) or all(_takes(parts[0], item) for item in value)
        return listed and whole
    of_shoal = isinstance(hint, type) and hint.__module__.split(".")[0].startswith("shoal")
    if of_shoal and (Protocol in hint.__mro__ or hint.__name__ in _CHECKED_LATER):
        return True
    return not (of_shoal or origin is Mapping) or isinstance(value, origin or hint)


def _is_list(hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if not (isinstance(origin, type) and issubclass(origin, Iterable) and len(parts) == 1):
        return False
    return parts[0] in {str, int, float} or get_origin(parts[0]) is Literal


def _complaint(name: str, value: object, hint: Any) -> str:
    listed = [part for part in get_args(hint) or () if _is_list(part)] or ([hint] if _is_list(hint) else [])
    if listed and isinstance(value, (str, int, float)):
        return f"{name} is a list; write {name}=[{value!r}]"
    return f"{name} = {show_value(value)} is not {_in_words(hint)}"


def _in_words(hint: Any) -> str:
    if get_origin(hint) in {Union, UnionType}:
        return " or ".join(_in_words(part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return f"known; choose one of {', '.join(map(str, get_args(hint)))}"
    if isinstance(hint, type) and hint in _TESTS:
        return _TESTS[hint][1]
    if _is_list(hint):
        return f"a list, each {_in_words(get_args(hint)[0]).removeprefix('known; choose ')}"
    return f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
