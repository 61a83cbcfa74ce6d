"""Ports for servers that tests start as processes of their own."""

import random
import socket

_given: set[int] = set()
_chance = random.SystemRandom()


def free_port() -> int:
    """A port of this machine on which nobody listens, another each time.

    It lies below those that systems give to connections that go out: one of these could take it before the
    server does.
    """
    while True:
        port = _chance.randrange(20_000, 32_000)
        if port in _given:
            continue
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        _given.add(port)
        return port
