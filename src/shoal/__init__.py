"""shoal: hide each traveler in the crowd.

The public names, nothing else. Each is loaded when it is first used; ``__init__.pyi`` beside this file lists
them and says where each lives.
"""

import sys
from importlib import import_module
from typing import Any, Final

from shoal.runtime.stubs import homes_in

_HOME_OF: Final = homes_in(__file__)
_PACKAGE_OF: Final = {"tabulate": "shoal_tables"}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # the list is the stub's


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _PACKAGE_OF:
        return _of_package(name)
    # name and obj let Python add "Did you mean ...?"
    raise AttributeError(f"module 'shoal' has no attribute '{name}'", name=name, obj=sys.modules[__name__])


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
