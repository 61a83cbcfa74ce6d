"""The desk on a socket of this machine, until it is interrupted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from shoal.errors import InputError, OutputError
from shoal.local_pages.guard import HOST, Keys
from shoal.local_pages.serving import open_page, open_server
from shoal_desk.app import desk_application
from shoal_desk.desk import Desk
from shoal_desk.work import held

LOCK_FILE: Final = "desk.lock"
OPEN_FILE: Final = "open.html"


def serve_desk(folder: Path, port: int, ready: Callable[[str], None], *, open_browser: bool) -> None:
    """Run until interrupted.

    Parameters
    ----------
    folder
        Of the case.
    port
        Where to listen; 0 takes a free one.
    ready
        Is told the address, with its token, once the desk listens.
    open_browser
        Whether to open it.

    Raises
    ------
    InputError
        When the port cannot be had, or the folder holds something else.
    OutputError
        When another desk works in the folder, or it cannot be written.
    """
    desk = Desk(folder)
    desk.case.choices()  # a folder that cannot be used is refused before anything listens
    keys = Keys.of(desk.folder)
    with held(desk.folder / LOCK_FILE) as lock:
        if lock is None:
            raise OutputError(f"another desk works in {folder}; end it, or name another --folder")
        try:
            server, listening, address = open_server(cast("Any", desk_application(desk, keys)), HOST, port)
        except InputError as error:
            raise InputError(f"nothing can listen at port {port}; choose another with --port") from error
        with listening:
            entry = f"{address}/{keys.prefix}/enter?token={keys.token}"
            ready(entry)
            if open_browser:
                open_page(desk.folder / OPEN_FILE, entry)
            server.run(sockets=[listening])
