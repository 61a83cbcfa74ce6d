"""shoal: hide each traveler in the crowd.

The public names, nothing else. Each is loaded when it is first used; ``__init__.pyi`` beside this file lists
them and says where each lives.
"""

from importlib import import_module
from typing import Any, Final

from shoal.runtime.stubs import on_first_use

_PACKAGE_OF: Final = {"tabulate": "shoal_tables"}

__all__, _get = on_first_use(__name__, __file__)  # the list is the stub's


def __getattr__(name: str) -> Any:
    return _of_package(name) if name in _PACKAGE_OF else _get(name)


def _of_package(name: str) -> Any:
    try:
        return getattr(import_module(_PACKAGE_OF[name]), name)
    except ModuleNotFoundError as error:
        from shoal.errors import MissingExtraError

        package = _PACKAGE_OF[name].replace("_", "-")
        raise MissingExtraError(
            f"shoal.{name} comes with the package {package}; install it with: pip install {package}"
        ) from error


def __dir__() -> list[str]:
    return __all__
