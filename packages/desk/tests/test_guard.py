"""Nobody but the person at this machine reaches the desk: address, token, cookie, host, origin."""

import socket
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from desk_visits import FORM, ORIGIN, PORT, Page, Visitor, call
from shoal.local_pages.guard import COOKIE, HOST, Keys
from shoal.local_pages.serving import open_server

OWN = {"Host": f"127.0.0.1:{PORT}", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path / "case")


def ask(
    visitor: Visitor,
    path: str,
    headers: Mapping[str, str] | list[tuple[str, str]],
    method: str = "GET",
    query: str = "",
) -> Page:
    return call(visitor.app, method, path.replace("PREFIX", visitor.keys.prefix), headers, query=query)


def with_cookie(visitor: Visitor, **more: str) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in more.items()}
    return {**OWN, "Cookie": f"{COOKIE}={visitor.keys.cookie}", **named}


def test_its_own_pages_come_in(visitor: Visitor) -> None:
    assert ask(visitor, "/PREFIX/data", with_cookie(visitor)).status == 200
    assert (
        ask(
            visitor, "/PREFIX/language", with_cookie(visitor, Origin=ORIGIN, Content_Type=FORM), "POST"
        ).status
        == 303
    )


REFUSED: dict[str, tuple[str, str, dict[str, str]]] = {
    "no cookie": ("GET", "/PREFIX/data", {"Cookie": ""}),
    "another cookie": ("GET", "/PREFIX/data", {"Cookie": f"{COOKIE}=0123456789abcdef0123456789abcdef"}),
    "a cookie that is none": ("GET", "/PREFIX/data", {"Cookie": ";=;\x7f,"}),
    "no prefix": ("GET", "/data", {}),
    "another prefix": ("GET", "/0123456789abcdef0123456789abcdef/data", {}),
    "a name for this machine": ("GET", "/PREFIX/data", {"Host": f"localhost:{PORT}"}),
    "a name that points at this machine": ("GET", "/PREFIX/data", {"Host": f"desk.example:{PORT}"}),
    "another port": ("GET", "/PREFIX/data", {"Host": "127.0.0.1:80"}),
    "no host": ("GET", "/PREFIX/data", {"Host": ""}),
    "a form of another page": ("POST", "/PREFIX/data", {"Origin": "https://elsewhere.example"}),
    "a form of another server here": ("POST", "/PREFIX/data", {"Origin": "http://127.0.0.1:9000"}),
    "a form of a page without an origin": ("POST", "/PREFIX/data", {"Origin": "null"}),
    "a form that does not say whence": ("POST", "/PREFIX/data", {}),
    "a picture on another page": ("GET", "/PREFIX/data", {"Sec-Fetch-Site": "cross-site"}),
    "a link on another server here": ("GET", "/PREFIX/data", {"Sec-Fetch-Site": "same-site"}),
    "a script of another page": ("GET", "/PREFIX/data", {"Origin": "http://127.0.0.1:9000"}),
    "another method": ("PUT", "/PREFIX/data", {}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_everybody_else_is_refused(case: str, visitor: Visitor) -> None:
    method, path, changed = REFUSED[case]
    answer = ask(visitor, path, {**with_cookie(visitor), **changed}, method)
    assert answer.status == 403
    assert "<" not in answer.html
    assert visitor.keys.cookie not in answer.html
    assert visitor.desk.case.choices().version == 0


def test_two_hosts_or_origins_are_refused(visitor: Visitor) -> None:
    twice = [*with_cookie(visitor).items(), ("Host", f"127.0.0.1:{PORT}")]
    assert ask(visitor, "/PREFIX/data", twice).status == 403
    origins = [*with_cookie(visitor, Origin=ORIGIN).items(), ("Origin", ORIGIN)]
    assert ask(visitor, "/PREFIX/data", origins, "POST").status == 403


def test_the_token_is_exchanged_for_a_cookie_of_this_desk_alone(visitor: Visitor) -> None:
    outside = {**OWN, "Sec-Fetch-Site": "cross-site"}  # a link in a terminal, or the file that is opened
    entered = ask(visitor, "/PREFIX/enter", outside, query=f"token={visitor.keys.token}")
    assert entered.status == 200
    assert entered.headers["set-cookie"] == (
        f"{COOKIE}={visitor.keys.cookie}; Path=/{visitor.keys.prefix}/; HttpOnly; SameSite=Strict"
    )
    assert visitor.keys.cookie not in entered.html
    for wrong in ("", "token=", "token=x", f"token={visitor.keys.token}x", "token=%ff", "tok\u00e9n=1"):
        assert ask(visitor, "/PREFIX/enter", outside, query=wrong).status == 403


def test_a_token_ends_with_its_desk_and_open_windows_go_on(visitor: Visitor) -> None:
    again = Keys.of(visitor.folder)
    assert again.token != visitor.keys.token
    assert (again.prefix, again.cookie) == (visitor.keys.prefix, visitor.keys.cookie)


@pytest.mark.parametrize("path", ["/PREFIX/data", "/PREFIX/static/desk.js", "/PREFIX/absent", "/elsewhere"])
def test_every_answer_has_its_headers(path: str, visitor: Visitor) -> None:
    headers = ask(visitor, path, with_cookie(visitor)).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "same-origin"


def test_what_the_desk_keeps_is_for_its_owner_alone(visitor: Visitor) -> None:
    visitor.post("data", "save", source=str(Path(__file__).parent))
    files = [visitor.folder, *visitor.folder.rglob("*")]
    assert [stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files] == [0] * len(files)


def test_it_listens_on_this_machine_alone(visitor: Visitor) -> None:
    _, listening, address = open_server(visitor.app, HOST, 0)  # type: ignore[arg-type]  # any ASGI application
    with listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert address.startswith("http://127.0.0.1:")
        port = listening.getsockname()[1]
        other = _other_address()
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((other, port), timeout=2)


def _other_address() -> str:
    """An address of this machine besides 127.0.0.1: that of its network card, else another loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.2"
