"""The app on a socket of this machine."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError
from shoal.local_pages.guard import HOST, Keys, Site
from shoal.local_pages.serving import open_page, open_server
from shoal_collect.app.app import participant_application
from shoal_collect.app.person import Addresses, Person
from shoal_collect.app.uploads import clear_away
from shoal_collect.device.disk import StateFolder
from shoal_collect.device.past import Past, folder_of_account

NAME: Final = "shoal collect app"
COOKIE: Final = "shoal-app"
OPEN_FILE: Final = "open.html"


def serve_participant(
    state: Path,
    at: Addresses,
    ready: Callable[[str], None],
    port: int,
    *,
    open_browser: bool,
    user: str,
    profile_file: Path | None,
) -> None:
    """Run until interrupted; ``ready`` receives the address. ``port``: 0 takes a free one."""
    folder, keys = StateFolder(state, Past(folder_of_account())), Keys.fresh()
    with folder.lock(), ExitStack() as stack:
        clear_away(folder.folder)
        person = Person(folder, at, user, profile_file)
        folder.load()  # a state that cannot be used is refused before anything listens
        app: Any = participant_application(person, keys, Site(name=NAME, cookie=COOKIE))
        try:
            server, listening, address = open_server(app, HOST, port)
        except InputError as error:
            raise InputError(f"nothing can listen at port {port}; choose another with --port") from error
        with listening:
            entry = f"{address}/{keys.prefix}/enter?token={keys.token}"
            ready(entry)
            if open_browser:
                stack.callback((folder.folder / OPEN_FILE).unlink, missing_ok=True)
                open_page(folder.folder / OPEN_FILE, entry, NAME)
            server.run(sockets=[listening])
