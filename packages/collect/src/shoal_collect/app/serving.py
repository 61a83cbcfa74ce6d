"""The app on a socket here, or of the house."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError
from shoal.local_pages.guard import HOST, Keys, Site
from shoal.local_pages.serving import open_page, open_server
from shoal_collect.app.app import participant_application
from shoal_collect.app.house import Door, certificate, house_address
from shoal_collect.app.person import Addresses, Person
from shoal_collect.app.uploads import clear_away
from shoal_collect.device.disk import StateFolder
from shoal_collect.device.past import Past, folder_of_account

NAME: Final = "shoal collect app"
COOKIE: Final = "shoal-app"
OPEN_FILE: Final = "open.html"


@dataclass(frozen=True)
class PageSocket:
    """Where the pages listen.

    Parameters
    ----------
    house
        An address of this machine in its network, empty to find it; None to listen on this machine alone.
    port
        The port; 0 takes a free one.
    open_browser
        Whether to open the page.
    """

    house: str | None
    port: int
    open_browser: bool


def serve_participant(
    state: Path,
    at: Addresses,
    ready: Callable[[str, str | None], None],
    show_code: Callable[[str], None],
    socket: PageSocket,
    *,
    user: str,
    profile_file: Path | None,
) -> None:
    """Run until interrupted.

    ``ready`` receives the address, and the certificate's SHA-256 in a house; ``show_code`` each code.
    """
    house, port = socket.house, socket.port
    folder, keys = StateFolder(state, Past(folder_of_account())), Keys.fresh()
    with folder.lock(), ExitStack() as stack:
        clear_away(folder.folder)
        person = Person(folder, at, user, profile_file)
        folder.load()  # a state that cannot be used is refused before anything listens
        host = HOST if house is None else house_address(house)
        site = Site(name=NAME, cookie=COOKIE, scheme="http" if house is None else "https", host=host)
        app: Any = participant_application(person, keys, site, by_path=house is None)
        try:
            if house is None:
                server, listening, address = open_server(app, host, port)
                digest = None
            else:
                with certificate(host) as (cert, key, digest):  # read once, and gone before anybody comes
                    door: Any = Door(app, site, show_code)
                    server, listening, address = open_server(door, host, port, cert, key)
        except InputError as error:
            raise InputError(
                f"nothing can listen at {host}, port {port}; choose another with --port or --house"
            ) from error
        with listening:
            entry = address + ("/" if house is not None else f"/{keys.prefix}/enter?token={keys.token}")
            ready(entry, digest)
            if socket.open_browser and house is None:
                stack.callback((folder.folder / OPEN_FILE).unlink, missing_ok=True)
                open_page(folder.folder / OPEN_FILE, entry, NAME)
            server.run(sockets=[listening])
