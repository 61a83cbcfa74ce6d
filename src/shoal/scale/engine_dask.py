"""A dask.distributed cluster: one that runs somewhere, by its address, or one of two workers on this machine.

The only file that knows dask.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from shoal.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client

Part = TypeVar("Part")
Result = TypeVar("Result")

_LOCAL_WORKERS: Final = 2
_PATIENCE_S: Final = 30


class DaskCluster:
    """Tasks go to a cluster's workers, which must find the same files under the same paths.

    address: None = two workers on this machine.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        try:
            import distributed  # noqa: F401  (only whether it is there)
        except ImportError as error:
            raise MissingExtraError(
                "dask is not installed; install it with: pip install 'shoal[dask]'"
            ) from error

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map; what a task gave is taken off the cluster as soon as it has been handed on."""
        from distributed import Client, KilledWorker

        if not parts:
            return
        try:
            client = (
                Client(
                    n_workers=_LOCAL_WORKERS,
                    threads_per_worker=1,
                    dashboard_address=None,
                    scheduler_kwargs={
                        "dashboard_address": "127.0.0.1:0"
                    },  # any free port: two clusters may run side by side
                    set_as_default=False,
                    silence_logs=logging.CRITICAL,  # a worker that is lost is taken care of here
                )
                if self._address is None
                else Client(self._address, timeout=_PATIENCE_S, set_as_default=False)
            )
        except (OSError, ValueError) as error:
            raise EngineError(
                f"no dask scheduler answers at {self._address}; start one, or check the address"
            ) from error
        with client:
            yield from self._results(client, fn, parts, KilledWorker)

    @staticmethod
    def _results(
        client: "Client", fn: Callable[[Part], Result], parts: Sequence[Part], killed: type[Exception]
    ) -> Iterator[Result]:
        waiting = [client.submit(fn, part, pure=False) for part in parts]
        try:
            for number in range(len(waiting)):
                try:
                    yield waiting[number].result()
                except killed as error:
                    raise EngineError(
                        f"task {number + 1} was lost with its worker again and again; give the workers more "
                        "memory or make smaller "
                        "--blocks, and run the same command again"
                    ) from error
                waiting[number].release()
        finally:
            client.cancel(waiting)
