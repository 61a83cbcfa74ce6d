"""The pages of the app, on a socket of this machine."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from shoal.errors import InputError, ShoalError
from shoal.local_pages.forms import Form, RefusedError, absolute_path, form_messages, form_of, redirect
from shoal.local_pages.guard import Guard, Keys, Site
from shoal.local_pages.serving import serve_one_person
from shoal.report.pages.frame import environment
from shoal_collect.app.drawing import trip_maps
from shoal_collect.app.person import MOST_BYTES, Addresses, Person, clear_away, files_in, plain
from shoal_collect.device.disk import Past, StateFolder, folder_of_account
from shoal_collect.device.participation import points_in_words
from shoal_collect.device.profile import rule_rows
from shoal_collect.roles.consent import OPEN, SHARED, date_of, describe_promise

PAGES: Final = {"trip": "Your trip", "share": "Blur and agree", "round": "The round", "mine": "What I shared"}
STAGES: Final = {
    "lottery": "Waiting for other people, and drawing groups",
    "questions": "Your group mixes its questions",
    "asking": "Asking how many others share each part",
    "releases": "Your group mixes what it shares",
    "storing": "The collector stores it",
    "claiming": "The authority notes that it is yours",
}
ENDINGS: Final = {
    "shared": "Done. The collector stores the parts of your trip that enough others share.",
    "nothing-left": "Done. Too few others share parts of this trip, so nothing of it was stored.",
    "alone": "You got no group this time, so nothing of your trip was sent. Take part in the next round.",
    "failed": "This round did not end well.",
    "left": "You left the round. Nothing of your trip was released.",
}
_STATIC: Final = {"desk.css": "text/css", "desk.js": "text/javascript"}
_KINDS: Final = ("home", "work")
_RADII: Final = ("100m", "250m", "500m", "1km", "2km")
_GAPS: Final = ("15min", "30min", "1h", "2h", "6h")


@cache
def templates() -> Any:
    """Templates, with a filter that passes SVG through."""
    from markupsafe import Markup

    loaded = environment("shoal_collect.app")
    loaded.filters["drawing"] = Markup  # SVG of drawing.py, whose texts are escaped there
    return loaded


def participant_application(person: Person, keys: Keys, site: Site) -> Guard:
    """The application inside its guard."""
    app = FastAPI(title="shoal collect app", docs_url=None, redoc_url=None, openapi_url=None)
    pages = _Pages(person)

    @app.exception_handler(HTTPException)
    async def absent(request: Request, error: HTTPException) -> Response:
        return pages.message(request, "There is no such page.", error.status_code)

    @app.exception_handler(ShoalError)
    async def refused(request: Request, error: ShoalError) -> Response:
        return pages.message(request, plain(error), 422)

    @app.exception_handler(RefusedError)
    async def no_form(request: Request, error: RefusedError) -> Response:
        return pages.message(request, form_messages()[error.key].format(**error.values), 422)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        return pages.message(request, f"A fault of the app ({type(error).__name__}). Nothing was sent.", 500)

    @app.get("/")
    def start(request: Request) -> Response:
        return redirect(request, "round" if person.running or person.waiting() else "trip")

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        text = files("shoal.local_pages").joinpath("static", name).read_text(encoding="utf-8")
        return Response(text, media_type=_STATIC[name])

    @app.get("/round/progress")
    def progress() -> Response:
        state = "running" if person.running else "done"
        stage = list(STAGES).index(person.phase) if person.phase in STAGES else len(STAGES)
        return Response(
            json.dumps({"state": state, "command": stage, "progress": None}), media_type="application/json"
        )

    @app.post("/trip/file")
    async def take_file(request: Request) -> Response:
        kind, body = request.headers.get("content-type", ""), await _body(request)
        return await run_in_threadpool(pages.take_file, request, kind, body)

    @app.get("/{page}")
    def show(request: Request, page: str) -> Response:
        return pages.show(request, page)

    @app.post("/{page}")
    async def take(request: Request, page: str) -> Response:
        form = await form_of(request)
        return await run_in_threadpool(pages.take, request, page, form)

    return Guard(app, keys, site)


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise InputError(
                f"more than {MOST_BYTES >> 20} MiB at once; name its path, where the app runs, or cut it"
            )
        parts.append(part)
    return b"".join(parts)


class _Pages:
    def __init__(self, person: Person) -> None:
        self._person = person

    def show(self, request: Request, page: str, complaint: str = "", **more: Any) -> Response:
        if page not in PAGES:
            raise HTTPException(404)
        try:
            content = {"trip": self._trip, "share": self._share, "round": self._round, "mine": self._mine}[
                page
            ]()
        except ShoalError as error:
            content, complaint = {"away": True}, complaint or plain(error)
        return self._html(request, f"{page}.html.j2", page, complaint, {**content, **more})

    def message(self, request: Request, text: str, status: int) -> Response:
        return self._html(request, "message.html.j2", "", text, {}, status)

    def _html(
        self,
        request: Request,
        template: str,
        page: str,
        complaint: str,
        content: Mapping[str, Any],
        status: int | None = None,
    ) -> Response:
        html = (
            templates()
            .get_template(template)
            .render(
                root=request.scope.get("root_path", ""),
                pages=PAGES,
                page=page,
                complaint=complaint,
                person=self._person,
                **content,
            )
        )
        return Response(html, status or (422 if complaint else 200), media_type="text/html")

    def take_file(self, request: Request, kind: str, body: bytes) -> Response:
        try:
            self._person.take_files(files_in(kind, body))
        except ShoalError as error:
            return self.show(request, "trip", plain(error))
        return redirect(request, "trip")

    def take(self, request: Request, page: str, form: Form) -> Response:
        if page not in PAGES:
            raise HTTPException(404)
        try:
            return self._done(request, page, form)
        except ShoalError as error:
            return self.show(request, page, plain(error))

    def _done(self, request: Request, page: str, form: Form) -> Response:
        person, do = self._person, form.one("do")
        following = page
        if (page, do) == ("trip", "path"):
            person.take_path(absolute_path(form.one("path")))
        elif (page, do) == ("trip", "person"):
            person.choose(form.one("subject"))
        elif (page, do) == ("trip", "pick"):
            person.pick(form.number("trip", 1, 10**6))
            following = "share"
        elif (page, do) == ("share", "look"):
            person.look(_entries(form, person.entries))
        elif (page, do) == ("share", "agree"):
            if form.one("agreed") != "yes":
                raise InputError("nothing was sent; tick the box if you agree")
            person.agree(form.one("seen"), form.one("invitation"))
            following = "round"
        elif (page, do) == ("round", "leave"):
            person.leave()
        elif (page, do) == ("round", "go_on"):
            person.go_on()
        elif (page, do) == ("mine", "fetch"):
            day, points = person.fetch(form.one("identifier"))
            return self.show(
                request, "mine", fetched=(form.one("identifier"), date_of(day), points_in_words(points))
            )
        elif (page, do) == ("mine", "delete"):
            back = person.take_back(form.one("identifier"))
            receipt = (back.release.withdrawn or b"").hex()
            deletion = (form.one("identifier"), date_of(back.day), date_of(back.due), receipt)
            return self.show(request, "mine", deleted=deletion)
        else:
            raise HTTPException(404)
        return redirect(request, following)

    def _trip(self) -> dict[str, Any]:
        return {"trips": self._person.trips()}

    def _share(self) -> dict[str, Any]:
        person = self._person
        if person.trip is None:
            return {}
        plan = person.plan or person.look()
        kinds = person.entries.get("kinds", {})
        return {
            "plan": plan,
            "radii": _RADII,
            "gaps": _GAPS,
            "dropped": [kind for kind in _KINDS if kinds.get(kind, {}).get("drop")],
            "kinds": _KINDS,
            "maps": trip_maps(plan.applied, plan.cylinders),
            "rules": rule_rows(plan.profile, plan.applied),
            "shared": SHARED,
            "promise": describe_promise(plan.profile.k, plan.profile.trimming),
            "still_open": OPEN,
        }

    def _round(self) -> dict[str, Any]:
        ending = self._person.ending
        return {
            "waiting": self._person.waiting(),
            "stages": STAGES,
            "ending": "" if ending is None else ENDINGS[ending.kind],
            "ending_message": "" if ending is None else plain(ending.message),
            "released": [] if ending is None else points_in_words(ending.released),
        }

    def _mine(self) -> dict[str, Any]:
        rows = [
            (
                release.identifier,
                date_of(release.day),
                None if release.withdrawn is None else release.withdrawn.hex(),
            )
            for release in self._person.shared()
        ]
        return {"rows": rows, "fetched": None, "deleted": None}


def _entries(form: Form, before: Mapping[str, Any]) -> dict[str, Any]:
    """All other settings of her profile stay."""
    kinds = {kind: rule for kind, rule in before.get("kinds", {}).items() if kind not in _KINDS}
    for kind in _KINDS:
        rule = before.get("kinds", {}).get(kind, {})
        if kind in form.many("drop"):
            kinds[kind] = {"drop": True} | ({"within": rule["within"]} if "within" in rule else {})
        elif rule and not rule.get("drop"):
            kinds[kind] = rule
    blur = {"radius": form.one("radius"), "gap": form.one("gap")}
    return {**before, "k": form.number("k", 0, 15), "blur": blur, "kinds": kinds}


NAME: Final = "shoal collect app"
COOKIE: Final = "shoal-app"


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
    with folder.lock():
        clear_away(folder.folder)
        person = Person(folder, at, user, profile_file)
        folder.load()  # a state that cannot be used is refused before anything listens
        app: Any = participant_application(person, keys, Site(name=NAME, cookie=COOKIE))
        browse_from = folder.folder if open_browser else None
        serve_one_person(app, keys, port, browse_from, ready, NAME)
