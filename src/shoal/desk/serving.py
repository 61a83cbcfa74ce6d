"""The desk on a socket of this machine, until it is interrupted."""

import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Final, cast

from shoal.collect.server.serving import bound
from shoal.desk.app import desk_application
from shoal.desk.case import write_private
from shoal.desk.desk import Desk
from shoal.desk.guard import HOST, Keys
from shoal.desk.work import held
from shoal.errors import InputError, OutputError

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
            server, listening, address = bound(cast("Any", desk_application(desk, keys)), HOST, port)
        except InputError as error:
            raise InputError(f"nothing can listen at port {port}; choose another with --port") from error
        with listening:
            entry = f"{address}/{keys.prefix}/enter?token={keys.token}"
            ready(entry)
            if open_browser:
                open_page(desk.folder / OPEN_FILE, entry)
            server.run(sockets=[listening])


def open_page(file: Path, address: str, name: str = "shoal desk") -> None:
    """Open the address by way of a file: everybody on the machine can read a browser's command line."""
    write_private(
        file,
        f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(address)}">'
        f'<title>{name}</title><a href="{escape(address)}">{name}</a>\n',
    )
    webbrowser.open(file.absolute().as_uri())
