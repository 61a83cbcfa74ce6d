"""The desk's application."""

import json
import os
import traceback
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from shoal.errors import OutputError, ShoalError
from shoal.local_pages.forms import Form, RefusedError, form_of, redirect, whole_number
from shoal.local_pages.guard import Guard, Keys
from shoal.local_pages.serving import serve_one_person
from shoal.release_folder.manifest import REPORT_FILE
from shoal.synthetic import write_synthetic
from shoal_desk.case import Choices, OvertakenError
from shoal_desk.commands import script
from shoal_desk.desk import Desk, Work
from shoal_desk.entries import folder_at
from shoal_desk.jobs import Job
from shoal_desk.pages import render
from shoal_desk.steps import STEPS, TYPED, Step
from shoal_desk.steps.record import free_name
from shoal_desk.steps.release import find
from shoal_desk.words import LANGUAGES, Words, preferred
from shoal_desk.work import hold_lock

_STATIC: Final = {"desk.css": "text/css", "desk.js": "text/javascript"}
_SHOWN: Final = {  # a page of a release has a stricter policy of its own, and meets nothing of the desk
    "content-security-policy": "sandbox allow-scripts allow-modals; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
}


def desk_application(desk: Desk, keys: Keys) -> Guard:
    """The application behind its guard."""
    app = FastAPI(title="shoal desk", docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(desk)

    _answer_errors(app, pages)

    @app.get("/")
    def start(request: Request) -> Response:
        return pages.start(request)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        text = files("shoal.local_pages").joinpath("static", name).read_text(encoding="utf-8")
        return Response(text, media_type=_STATIC[name])

    @app.post("/language")
    async def language(request: Request) -> Response:
        form = await form_of(request)
        return await run_in_threadpool(pages.language, request, form)

    @app.get("/browse")
    def browse(request: Request, at: str = "") -> Response:
        return pages.browse(request, at)

    @app.get("/kept/{name}")
    def file(request: Request, name: str) -> Response:
        return pages.file(request, name)

    @app.get("/{step}")
    def show(request: Request, step: str) -> Response:
        if step in TYPED:
            return redirect(request, TYPED[step])
        return pages.show(request, step_named(step))

    @app.get("/{step}/progress/{job}")
    def progress(request: Request, step: str, job: str) -> Response:
        return pages.progress(request, step_named(step), job)

    @app.post("/{step}")
    async def take(request: Request, step: str) -> Response:
        page_step = step_named(step)
        try:
            form = await form_of(request)
        except RefusedError as error:
            return await run_in_threadpool(pages.show, request, page_step, error)
        return await run_in_threadpool(pages.take, request, page_step, form)

    return Guard(app, keys)


def _answer_errors(app: FastAPI, pages: "Pages") -> None:
    @app.exception_handler(HTTPException)
    async def absent(request: Request, error: HTTPException) -> Response:
        return await run_in_threadpool(pages.sentence, request, "error.absent", error.status_code)

    @app.exception_handler(ShoalError)
    async def refused(request: Request, error: ShoalError) -> Response:
        return await run_in_threadpool(pages.sentence, request, "error.said", 422, message=error.cli_message)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        if os.environ.get("SHOAL_TRACEBACK"):
            traceback.print_exception(error)
        kind = type(error).__name__
        return await run_in_threadpool(pages.sentence, request, "error.fault", 500, kind=kind)


def step_named(name: str) -> Step:
    """An address's step, or 404."""
    if name not in STEPS:
        raise HTTPException(404)
    return STEPS[name]


class Pages:
    """The answers to all addresses."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def start(self, request: Request) -> Response:
        """The first step that is not done."""
        work = self._work(request)
        step = next((candidate for candidate in STEPS.values() if not candidate.done(work)), STEPS["record"])
        return redirect(request, step.name)

    def show(
        self,
        request: Request,
        step: Step,
        refused: RefusedError | None = None,
        entered: Form | None = None,
        **more: Any,
    ) -> Response:
        """A step. entered: the form, if refused."""
        work = self._work(request)
        # before what they found: work that ends in between leaves no page with neither it nor its result
        jobs = {name: job_facts(getattr(work, name)) for name in step.jobs}
        words = Words(work.choices.language)
        earlier = list(STEPS.values())[: list(STEPS).index(step.name)]
        waits_for = next((other for other in earlier if not other.done(work)), None)
        content = {} if waits_for is not None else step.content(self._desk, work, words)
        html = render(
            f"{step.name}.html.j2",
            words,
            root=request.scope["root_path"],
            steps=list(STEPS),
            step=step.name,
            done={other.name: other.done(work) for other in STEPS.values()},
            summaries={other.name: other.summary(work, words) for other in STEPS.values()},
            waits_for=None if waits_for is None else waits_for.name,
            choices=work.choices,
            folder=str(self._desk.folder),
            jobs=jobs,
            refused=None if refused is None else words(refused.key, **refused.values),
            beside={} if refused is None else refused.field_messages,
            entered=entered,
            **({"answer": None} | content | more),
        )
        return Response(html, 200 if refused is None else 422, media_type="text/html")

    def take(self, request: Request, step: Step, form: Form) -> Response:
        """Store entries, start or cancel work, and show the page."""
        work = self._work(request)
        action, _, name = form.one("do").partition(":")
        try:
            seen = whole_number(form.one("seen"), 0, 10**9 - 1)
            if action == "cancel":
                job = self._job(work, step, name)
                if job is not None:
                    job.cancel()
                return redirect(request, step.name)
            if action == "sample":
                file = self._desk.folder / "people-who-do-not-exist.parquet"
                if not file.exists():
                    write_synthetic(file, 1_000, 2, 1)
                choices = self._desk.case.change(seen, source=str(file), reading={}, confirmed=())
                self._start(step, "data", choices, work.choices.language)
                return redirect(request, step.name)
            if action == "find":
                return self.show(request, step, answer=find(self._desk, work.choices, form), entered=form)
            changes = step.take(work.choices, form)
            choices = self._desk.case.change(seen, **changes)
            if action == "start":
                self._start(step, name, choices, work.choices.language)
            if action == "next" and not step.done(self._work(request)):
                raise RefusedError("error.unanswered")
            following = list(STEPS)[min(list(STEPS).index(step.name) + 1, len(STEPS) - 1)]
            return redirect(request, following if action == "next" else step.name)
        except OvertakenError:
            return self.show(request, step, RefusedError("error.overtaken"), form)
        except RefusedError as error:
            return self.show(request, step, error, form)

    def progress(self, request: Request, step: Step, name: str) -> Response:
        """A job's progress, for the script."""
        job = self._job(self._work(request), step, name)
        return Response(json.dumps(job_facts(job)), media_type="application/json")

    def browse(self, request: Request, at: str) -> Response:
        """A folder of this machine."""
        work = self._work(request)
        words = Words(work.choices.language)
        try:
            folder, refused = folder_at(at), None
        except RefusedError as error:
            folder, refused = folder_at(""), words(error.key, **error.values)
        html = render(
            "browse.html.j2",
            words,
            root=request.scope["root_path"],
            choices=work.choices,
            at=folder,
            refused=refused,
        )
        return Response(html, 200 if refused is None else 422, media_type="text/html")

    def file(self, request: Request, name: str) -> Response:
        """A file of the case."""
        work = self._work(request)
        if name in ("release.toml", "steps.sh"):
            return Response(self._texts(work)[name], media_type="text/plain")
        records = (*self._desk.folder.glob("record*.html"), *self._desk.folder.glob("record*.pdf"))
        files_by_name: dict[str, Path] = {path.name: path for path in records}
        if work.choices.output:
            files_by_name[REPORT_FILE] = Path(work.choices.output) / REPORT_FILE
        if work.choices.private_report:
            files_by_name["private-report.html"] = Path(work.choices.private_report)
        try:
            text = files_by_name[name].read_bytes()
        except (KeyError, OSError) as error:
            raise HTTPException(404) from error
        if name.endswith(".pdf"):
            return Response(text, media_type="application/pdf")
        return Response(text, media_type="text/html", headers=_SHOWN)

    def language(self, request: Request, form: Form) -> Response:
        """Switch the language."""
        chosen, step = form.one("language"), form.one("step")
        if chosen in LANGUAGES:
            self._desk.case.change(self._desk.case.choices().version, language=chosen)
        return redirect(request, step if step in STEPS else "")

    def sentence(self, request: Request, key: str, status: int, **values: Any) -> Response:
        """A page with one sentence."""
        try:
            choices = self._choices(request)
        except ShoalError:
            choices = Choices(language="en")
        words = Words(choices.language)
        html = render(
            "message.html.j2",
            words,
            root=request.scope["root_path"],
            choices=choices,
            refused=words(key, **values),
        )
        return Response(html, status, media_type="text/html")

    def _texts(self, work: Work) -> dict[str, str]:
        """As settings and as a script."""
        jobs = [
            job for job in (work.unit or work.data, work.study, work.release, work.record) if job is not None
        ]
        release = work.release
        return {
            "release.toml": "" if release is None else release.plan.commands[0].toml(),
            "steps.sh": script([job.plan for job in jobs]),
        }

    def _start(self, step: Step, name: str, choices: Choices, language: str) -> None:
        def work_of(choices: Choices) -> Work:
            return self._desk.work(choices.model_copy(update={"language": language}))

        if name == "record":
            before = work_of(choices).record
            if before is None or before.state in ("absent", "done", "failed"):
                record = str(free_name(self._desk.folder))
                choices = self._desk.case.change(choices.version, record=record)
        work = work_of(choices)
        job = self._job(work, step, name)
        if job is None:
            raise RefusedError("error.too_early")
        if name == "release" and work.unit is not None:
            work.unit.start()  # a trial may protect days, which nothing counted yet
        job.start()

    def _job(self, work: Work, step: Step, name: str) -> Job | None:
        if name not in step.jobs:
            raise HTTPException(404)
        job: Job | None = getattr(work, name)
        return job

    def _choices(self, request: Request) -> Choices:
        choices = self._desk.case.choices()
        if choices.language in LANGUAGES:
            return choices
        return choices.model_copy(update={"language": preferred(request.headers.get("accept-language", ""))})

    def _work(self, request: Request) -> Work:
        return self._desk.work(self._choices(request))


def job_facts(job: Job | None) -> dict[str, Any]:
    """A job on a page."""
    if job is None:
        return {"state": "absent", "commands": [], "files": {}, "message": "", "command": 0, "progress": None}
    state, progress = job.state, job.progress
    return {
        "state": state,
        "commands": [command.shell_line() for command in job.plan.commands],
        "files": {str(path): text for path, text in job.plan.files.items()},
        "message": job.message,
        "command": job.command,
        "progress": None
        if progress is None or state != "running"
        else {
            "label": progress.label,
            "done": progress.done,
            "total": progress.total,
            "left_s": None if progress.left_s is None else round(progress.left_s),
        },
    }


LOCK_FILE: Final = "desk.lock"


def serve_desk(folder: Path, port: int, ready: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve the desk until interrupted. port: 0 takes a free one.

    ready: called with the address and its token. OutputError when another desk works in the folder.
    """
    desk = Desk(folder)  # a folder that cannot be used is refused before anything listens
    keys = Keys.of(desk.folder)
    with hold_lock(desk.folder / LOCK_FILE) as lock:
        if lock is None:
            raise OutputError(f"another desk works in {folder}; end it, or name another --folder")
        browse_from = desk.folder if open_browser else None
        serve_one_person(
            cast("Any", desk_application(desk, keys)), keys, port, browse_from, ready, "shoal desk"
        )
