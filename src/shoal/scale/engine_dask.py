"""dask.distributed; the only file that knows dask."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Final, TypeVar

from shoal.errors import EngineError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client

Part = TypeVar("Part")
Result = TypeVar("Result")

_LOCAL_WORKERS: Final = 2
_PATIENCE_S: Final = 30  # for a scheduler that listens to answer
_ANSWERS_WITHIN_S: Final = 5


class DaskCluster:
    """Runs tasks on a cluster (None = two workers here), whose workers see the same paths."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        try:
            import distributed  # noqa: F401  (only whether it is there)
        except ImportError as error:
            raise MissingExtraError(
                "dask is not installed; install it with: pip install 'shoal[dask]'"
            ) from error
        if address is not None:
            _require_scheduler(address)

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map; results leave the cluster when used."""
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
                    silence_logs=logging.CRITICAL,  # lost workers are handled here
                )
                if self._address is None
                else Client(self._address, timeout=_PATIENCE_S, set_as_default=False)
            )
        except (OSError, ValueError) as error:
            raise _no_scheduler(self._address) from error
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
                        "memory or make smaller --blocks, and run the same command again"
                    ) from error
                except CancelledError as error:
                    raise EngineError(
                        "the dask scheduler was lost before the work was done; start it, and run the same "
                        "command again to continue"
                    ) from error
                waiting[number].release()
        finally:
            client.cancel(waiting)


def _require_scheduler(address: str) -> None:
    """Raise EngineError when no scheduler answers: a client without one takes a minute to close."""
    from distributed.comm import connect
    from distributed.security import Security

    faults: list[Exception | None] = []

    async def greet() -> None:
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(
            connect(address, timeout=_ANSWERS_WITHIN_S, **arguments), _ANSWERS_WITHIN_S
        )
        comm.abort()

    def ask() -> None:
        try:
            asyncio.run(greet())
            faults.append(None)
        except Exception as error:  # any server may listen there
            faults.append(error)

    asking = threading.Thread(target=ask, daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(_ANSWERS_WITHIN_S)
    if not faults or faults[0] is not None:
        raise _no_scheduler(address) from (faults[0] if faults else None)


def _no_scheduler(address: str | None) -> EngineError:
    return EngineError(
        f"no dask scheduler answers at {address}; start one, or check the address, such as tcp://HOST:8786"
    )
