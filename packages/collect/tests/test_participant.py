"""The app of participants without a socket: who comes in, what a file may be, what is refused."""

import io
import socket
import stat
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from command_line import Shoal
from desk_visits import FORM, PORT, Page, call
from shoal.errors import InputError, MisuseError
from shoal.local_pages.guard import Keys, Site
from shoal_collect.app import app as pages
from shoal_collect.app.app import ENDINGS, participant_application, serve_participant
from shoal_collect.app.person import Addresses, Person, files_in, on_disk, plain
from shoal_collect.device.disk import StateFolder

NOWHERE = Addresses("http://127.0.0.1:1", "http://127.0.0.1:1")
GPX = """<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{points}
</trkseg></trk></gpx>"""
OWN = f"http://127.0.0.1:{PORT}"


def gpx(n: int = 3) -> bytes:
    rows = [
        f'<trkpt lat="{39.9 + 0.01 * i:.4f}" lon="{116.3 + 0.01 * i:.4f}">'
        f"<time>2026-03-02T08:{20 * i:02}:00Z</time></trkpt>"
        for i in range(n)
    ]
    return GPX.format(points="\n".join(rows)).encode()


def multipart(*files: tuple[str, bytes]) -> tuple[str, bytes]:
    mark = "----x0123456789"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, content in files
    ]
    return f"multipart/form-data; boundary={mark}", b"".join(parts) + f"--{mark}--\r\n".encode()


class Guest:
    """Somebody with the app's cookie, or without."""

    def __init__(self, folder: Path) -> None:
        self.keys, self.person = Keys.fresh(), Person(StateFolder(folder), NOWHERE)
        self.app: Any = participant_application(self.person, self.keys, Site(name="app", cookie="shoal-app"))
        self.headers = {
            "Host": f"127.0.0.1:{PORT}",
            "Cookie": f"shoal-app={self.keys.cookie}",
            "Sec-Fetch-Site": "same-origin",
        }

    def get(self, path: str, **changed: str) -> Page:
        return call(self.app, "GET", f"/{self.keys.prefix}/{path}", {**self.headers, **changed})

    def post(self, path: str, body: bytes, kind: str = FORM, **changed: str) -> Page:
        sent = {**self.headers, "Origin": OWN, "Content-Type": kind, **changed}
        return call(self.app, "POST", f"/{self.keys.prefix}/{path}", sent, body)

    def form(self, page: str, do: str, **fields: str) -> Page:
        return self.post(page, urlencode({"do": do, **fields}).encode())

    def upload(self, *files: tuple[str, bytes]) -> Page:
        kind, body = multipart(*files)
        return self.post("trip/file", body, kind)


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    return Guest(tmp_path / "state")


REFUSED: dict[str, tuple[str, str, dict[str, str]]] = {
    "no cookie": ("GET", "trip", {"Cookie": ""}),
    "the desk's cookie": ("GET", "trip", {"Cookie": "shoal-desk=0123"}),
    "another name of this machine": ("GET", "trip", {"Host": f"localhost:{PORT}"}),
    "a name that points here": ("GET", "trip", {"Host": f"app.example:{PORT}"}),
    "a picture elsewhere": ("GET", "trip", {"Sec-Fetch-Site": "cross-site"}),
    "a form of another page": ("POST", "round", {"Origin": "https://elsewhere.example"}),
    "a form of another server here": ("POST", "round", {"Origin": "http://127.0.0.1:9000"}),
    "a form that does not say whence": ("POST", "round", {}),
    "a file of another page": ("POST", "trip/file", {"Origin": "null"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_everybody_else_is_refused(case: str, guest: Guest) -> None:
    method, path, changed = REFUSED[case]
    answer = call(guest.app, method, f"/{guest.keys.prefix}/{path}", {**guest.headers, **changed})
    assert answer.status == 403
    assert "<" not in answer.html
    assert guest.keys.cookie not in answer.html


def test_the_token_lets_in(guest: Guest) -> None:
    for token, status in ((guest.keys.token, 200), ("0" * 32, 403)):
        address = f"/{guest.keys.prefix}/enter"
        entered = call(guest.app, "GET", address, {"Host": f"127.0.0.1:{PORT}"}, query=f"token={token}")
        assert entered.status == status
    assert guest.get("trip").status == 200
    assert "default-src 'none'" in guest.get("trip").headers["content-security-policy"]


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return packed.getvalue()


PLT = b"""Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04
39.994683,116.318450,0,492,39744.1301967593,2008-10-23,03:07:29
"""
TIMELINE = (
    b'{"locations": ['
    b'{"latitudeE7": 399000000, "longitudeE7": 1163000000, "timestamp": "2026-03-02T08:00:00Z"},'
    b'{"latitudeE7": 399100000, "longitudeE7": 1163100000, "timestamp": "2026-03-02T08:20:00Z"}]}'
)
FIX = '2026-03-02T08:{}:00Z\t*                 \t{{"_type":"location","lat":39.9,"lon":116.3,"tst":{}}}\n'
OWNTRACKS = (FIX.format("00", 1_772_438_400) + FIX.format("20", 1_772_439_600)).encode()
FILES: dict[str, tuple[str, bytes]] = {
    "GPX": ("C:\\trips\\my ride.gpx", gpx()),
    "GeoLife": ("20081023025304.plt", PLT),
    "Google Timeline": ("Records.json", TIMELINE),
    "OwnTracks": ("2026-03.rec", OWNTRACKS),
    "a zip": ("trips.zip", zipped(ride__gpx=gpx())),
}


@pytest.mark.parametrize("kind", FILES)
def test_files_of_every_kind_are_read_and_nothing_of_them_stays(kind: str, guest: Guest) -> None:
    before = set(guest.person.folder.folder.rglob("*"))
    assert guest.upload(FILES[kind]).status == 303
    html = guest.get("trip").html
    assert "Which trip?" in html, html
    assert [trip.points for trip in guest.person.trips()] == [
        3 if FILES[kind][1] in (gpx(),) or kind == "a zip" else 2
    ]
    assert set(guest.person.folder.folder.rglob("*")) == before


def test_several_files_are_asked_about(guest: Guest) -> None:
    assert guest.upload(("../../a.gpx", gpx()), ("b/../a.gpx", gpx(2)), ("c.gpx", gpx())).status == 303
    assert len(guest.person.people) == 3
    assert "Which of these is you?" in guest.get("trip").html
    assert guest.person.trips() == []
    assert guest.form("trip", "person", subject="nobody").status == 422
    assert guest.form("trip", "person", subject=guest.person.people[0]).status == 303
    assert len(guest.person.trips()) == 1
    assert "no trip" in guest.form("trip", "pick", trip="9").sentence or guest.person.trip is None


def bad_files() -> Iterator[tuple[str, tuple[str, bytes], str]]:
    kind, whole = multipart(("a.gpx", gpx()))
    yield "no form", (FORM, b"do=x"), "brings no file"
    yield "no file", multipart(("", b"")), "choose a file"
    yield "an empty file", multipart(("a.gpx", b"")), "choose a file"
    yield "another kind", multipart(("photo.jpg", b"\xff\xd8")), "a kind that shoal does not read"
    yield "no GPX", multipart(("a.gpx", b"<gpx")), "a.gpx"
    yield "a bomb", multipart(("a.gpx", b'<!DOCTYPE a [<!ENTITY b "c">]><gpx>&b;</gpx>')), "a.gpx"
    yield "no zip", multipart(("a.zip", b"PK")), "a.zip"
    yield "cut off", (kind, whole[:60]), ""
    yield "no boundary", ("multipart/form-data", whole), "brings no file"
    yield "too much", multipart(("a.gpx", b" " * 3000)), "MiB at once"


@pytest.mark.parametrize(
    ("kind_and_body", "said"), [case[1:] for case in bad_files()], ids=[c[0] for c in bad_files()]
)
def test_bad_files_get_a_sentence(
    kind_and_body: tuple[str, bytes], said: str, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_BYTES", 2500)
    answer = guest.post("trip/file", kind_and_body[1], kind_and_body[0])
    assert answer.status == 422
    assert said in answer.sentence
    assert answer.sentence
    assert str(guest.person.folder.folder) not in answer.html
    assert guest.person.people == []


def test_bytes_come_through_a_form_as_they_are(tmp_path: Path) -> None:
    content = bytes(range(256)) + b"\r\n\r\r\n--x0123456789\n\x00" + "ä".encode() + b"\r"
    kind, body = multipart(("a.gpx", content), ("b.zip", b"\n" + content + b"\n"))
    found = files_in(kind, body)
    assert [one[1] for one in found] == [content, b"\n" + content + b"\n"]
    with on_disk(found, tmp_path) as place:
        assert sorted(one.read_bytes() for one in place.iterdir()) == sorted(one[1] for one in found)
        assert {stat.S_IMODE(one.stat().st_mode) for one in place.iterdir()} == {0o600}
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_app_was_reading_is_gone_at_the_next_start(tmp_path: Path) -> None:
    """Raw points are on the disk for the moment of reading alone."""
    (tmp_path / "reading-x").mkdir()
    (tmp_path / "reading-x" / "mine.gpx").write_bytes(gpx())
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match="nothing can listen"),
    ):
        serve_participant(
            tmp_path, NOWHERE, lambda _: None, taken.getsockname()[1],
            open_browser=False, user="me", profile_file=None,
        )  # fmt: skip
    assert not list(tmp_path.glob("reading-*"))


def test_pages_say_what_is_missing(guest: Guest) -> None:
    assert "Choose a trip first" in guest.get("share").html
    assert "You take part in no round" in guest.get("round").html
    assert "shared nothing from here" in guest.get("mine").html
    assert guest.get("nowhere").status == 404
    assert guest.form("trip", "dance").status == 404
    assert "choose a trip first" in guest.form("share", "look", k="2", radius="1km", gap="1h").sentence
    assert "tick the box" in guest.form("share", "agree").sentence
    assert "has changed meanwhile" in guest.form("share", "agree", agreed="yes", seen="").sentence
    assert "too late to leave" in guest.form("round", "leave").sentence
    assert "nothing was shared" in guest.form("mine", "delete", identifier="0" * 32).sentence
    guest.upload(("ride.gpx", gpx()))
    guest.form("trip", "pick", trip="1")
    assert "does not answer" in guest.get("share").sentence, "the collector is away"
    for fields in ({"k": "16"}, {"k": "x"}, {"radius": "10m"}, {"radius": "far"}, {"gap": "1"}):
        answer = guest.form("share", "look", **{"k": "2", "radius": "1km", "gap": "1h", **fields})
        assert answer.status == 422
        assert answer.sentence


def test_complaints_do_not_speak_the_command_line() -> None:
    assert plain("after blurring; choose another trip (--trip), or less blur") == (
        "after blurring; choose another trip, or less blur"
    )
    assert plain("it is away; run the same command again") == "it is away; go on with the round"
    for error in (InputError, MisuseError):  # as they are raised: their text is that of Python
        assert plain(error("refused; give your invitation with --invitation")) == (
            "refused; give your invitation"
        )
        assert plain(error("too much; choose another trip (--trip)")) == "too much; choose another trip"


def test_every_ending_has_words() -> None:
    from typing import get_args

    from shoal_collect.roles.participant_round import Kind

    assert set(get_args(Kind)) - {"declined"} == set(ENDINGS)


def test_a_round_without_a_release_leads_on(guest: Guest) -> None:
    from shoal_collect.roles.participant_round import Ending

    token = "your token of this period may be used up"
    guest.person.ending = Ending("failed", "words")
    html = guest.get("round").html
    assert (ENDINGS["failed"] in html, token in html) == (True, True)
    guest.person.ending = Ending("shared", "words", identifier="ab" * 16)
    html = guest.get("round").html
    assert (ENDINGS["shared"] in html, token in html) == (True, False)


def test_the_command_refuses_in_words(shoal: Shoal, tmp_path: Path) -> None:
    base = ("collect", "app", "--server", "http://127.0.0.1:1", "--authority", "http://127.0.0.1:1")
    state = ("--state", tmp_path / "state")
    (tmp_path / "bad.toml").write_text("k = 99\n")
    for words, said in (
        ((*base, *state, "--profile", tmp_path / "none.toml"), "cannot read"),
        ((*base, *state, "--profile", tmp_path / "bad.toml"), "k: "),
        ((*base[:2], "--server", "nowhere", *base[4:], *state), "not an address of a server"),
    ):
        ended = shoal(*words)
        assert (ended.code, said in ended.err) == (2, True), ended.err
    folder = StateFolder(tmp_path / "state")
    with folder.lock():
        assert "another process works with" in shoal(*base, *state).err


def test_a_trip_is_thinned_on_a_map_that_has_its_scale(tmp_path: Path) -> None:
    from shoal_collect.app.drawing import trip_maps
    from shoal_collect.device.profile import apply, profile_of
    from shoal_collect.matching.cylinders import Point, cylinder_for

    points = [Point(48.85 + 0.001 * i, 2.35, 29_000_000.0 + i) for i in range(5)]
    home = {"name": "door", "lat": 48.85, "lon": 2.35, "drop": True, "within": "50m"}
    applied = apply(profile_of({"k": 1, "blur": {"radius": "1km", "gap": "30min"}, "places": [home]}), points)
    circles = [
        cylinder_for(point, blur, bytes(32), 0)
        for point, blur in zip(applied.points, applied.blurs, strict=True)
    ]
    maps = trip_maps(applied, circles)
    assert (maps.before.count('class="at"'), maps.before.count('class="out"')) == (4, 1)
    assert (maps.after.count('class="blurred"'), maps.after.count('class="at"')) == (4, 0)
    assert ">500 m</text>" in maps.after
    with pytest.raises(InputError):
        profile_of({"k": 1})


def test_the_command_says_where_it_is_and_leaves_no_secret(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, seen = tmp_path / "state", dict[str, Any]()

    class Stopped:
        """A server that looks around and ends."""

        def run(self, sockets: Any) -> None:
            seen["state"] = {one.name: one.stat().st_mode & 0o077 for one in state.iterdir()}

    def bind(app: Any, host: str, port: int) -> Any:
        return Stopped(), nullcontext(), f"http://{host}:{port}"

    monkeypatch.setattr("shoal.local_pages.serving.open_server", bind)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    urls = ("--server", "http://127.0.0.1:1", "--authority", "http://127.0.0.1:1")
    ended = shoal("collect", "app", *urls, "--state", state, "--port", "8451")
    assert ended.code == 0
    assert {one.name for one in state.iterdir()} == {"lock"}
    assert ended.out.startswith("app at http://127.0.0.1:8451/")
    assert opened == [(state / "open.html").as_uri()]
    assert seen["state"]["open.html"] == 0
