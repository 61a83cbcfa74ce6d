"""A desk without a socket and without processes: requests as a browser sends them, jobs in this process."""

import asyncio
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO
from unittest.mock import patch
from urllib.parse import urlencode

from shoal import messages
from shoal.cli.main import main
from shoal.local_pages.guard import COOKIE, Application, Keys
from shoal_desk.app import desk_application
from shoal_desk.desk import Desk
from shoal_desk.work import Worker, messages_file

PORT = 8450
ORIGIN = f"http://127.0.0.1:{PORT}"
FORM = "application/x-www-form-urlencoded"


class WorkerHere(Worker):
    """Runs commands in this process: the same functions, without seconds of starting."""

    def run_command(self, number: int, arguments: list[str], out: BinaryIO, err: BinaryIO) -> int:
        said, complained = StringIO(), StringIO()
        sentences = {messages.ENVIRONMENT: str(messages_file(self._folder, number))}
        with redirect_stdout(said), redirect_stderr(complained), patch.dict(os.environ, sentences):
            try:
                main([*arguments, "--json"])
            except SystemExit as left:
                code = left.code
        out.write(said.getvalue().encode())
        err.write(complained.getvalue().encode())
        assert isinstance(code, int)
        return code


@dataclass(frozen=True)
class Page:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def html(self) -> str:
        return self.body.decode()

    @property
    def sentence(self) -> str:
        """What the page complains of; empty where it complains of nothing."""
        found = re.search(r'role="alert"[^>]*><p>(.*?)</p>', self.html, re.DOTALL)
        return "" if found is None else unescape(re.sub(r"<[^>]+>|\s+", " ", found[1])).strip()


def call(
    app: Application,
    method: str,
    path: str,
    headers: Mapping[str, str] | list[tuple[str, str]],
    body: bytes = b"",
    query: str = "",
) -> Page:
    """One request to an application."""
    sent: list[Any] = []
    listed = list(headers.items()) if isinstance(headers, Mapping) else headers
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in listed],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", PORT),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def called() -> None:
        await app(scope, receive, send)

    with ThreadPoolExecutor(1) as aside:  # a browser of the same test has its loop in this thread
        aside.submit(asyncio.run, called()).result()
    return Page(
        status=sent[0]["status"],
        headers={name.decode(): value.decode() for name, value in sent[0]["headers"]},
        body=b"".join(message.get("body", b"") for message in sent[1:]),
    )


@dataclass
class Visitor:
    """Somebody at a desk, who has its cookie."""

    folder: Path
    waiting: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.desk = Desk(self.folder, launch=self.waiting.append)
        self.keys = Keys.of(self.folder)
        self.app = desk_application(self.desk, self.keys)
        self.headers = {
            "Host": f"127.0.0.1:{PORT}",
            "Cookie": f"{COOKIE}={self.keys.cookie}",
            "Sec-Fetch-Site": "same-origin",
            "Accept-Language": "en",
        }

    def get(self, path: str, query: str = "") -> Page:
        return call(self.app, "GET", f"/{self.keys.prefix}/{path}", self.headers, query=query)

    def post(self, step: str, do: str, *, seen: int | None = None, **fields: Any) -> Page:
        """Send a form, let its jobs work, and look at the page that follows."""
        version = self.desk.case.choices().version if seen is None else seen
        texts = {name.replace("__", "-"): value for name, value in fields.items()}
        body = urlencode({"seen": version, "do": do, **texts}, doseq=True).encode()
        answer = self.send(step, body)
        self.work()
        if answer.status != 303:
            return answer
        return self.get(answer.headers["location"].removeprefix(f"/{self.keys.prefix}/"))

    def send(self, step: str, body: bytes, kind: str = FORM) -> Page:
        headers = {**self.headers, "Origin": ORIGIN, "Content-Type": kind}
        return call(self.app, "POST", f"/{self.keys.prefix}/{step}", headers, body)

    def work(self) -> None:
        """Carry out the jobs that were started."""
        while self.waiting:
            WorkerHere(self.waiting.pop()).run()
