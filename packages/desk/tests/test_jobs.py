"""Two windows, a closed browser, a server that starts again, a job that is canceled or killed: no loss."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from command_line import Shoal
from desk_visits import Visitor, WorkerHere
from shoal.errors import OutputError
from shoal.runtime.timings import ProgressFile, read_progress
from shoal_desk import work
from shoal_desk.commands import Command, Plan
from shoal_desk.desk import Work
from shoal_desk.jobs import Job, Jobs
from shoal_desk.work import LOCK_FILE, STATUS_FILE, hold_lock, result_file


def data_job(visitor: Visitor) -> Job:
    job = visitor.desk.work(visitor.desk.case.choices()).data
    assert job is not None
    return job


def test_two_windows_start_one_job(newcomer: Visitor, desk_city: Path) -> None:
    other = Visitor(newcomer.folder)
    for window in (newcomer, other, newcomer):
        version = window.desk.case.choices().version
        body = f"seen={version}&do=start:data&source={desk_city}".encode()
        assert window.send("data", body).status == 303
    assert len(newcomer.waiting) + len(other.waiting) == 1
    assert 'id="work-data"' in newcomer.get("data").html
    newcomer.work()
    assert data_job(other).state == "done"
    assert 'id="found"' in other.get("data").html


def test_a_window_that_was_overtaken_overwrites_nothing(visitor: Visitor) -> None:
    before = visitor.desk.case.choices()
    visitor.post("people", "start:unit", unit="vehicle")
    page = visitor.post("people", "start:unit", seen=before.version, unit="device", person="owner")
    assert page.status == 422
    assert page.sentence.startswith("Another window changed this case")
    assert 'value="owner"' in page.html
    assert visitor.desk.case.choices().unit == "vehicle"


def test_a_form_that_is_sent_twice_starts_its_work_once(visitor: Visitor) -> None:
    version = visitor.desk.case.choices().version
    places = {name: visitor.folder / name for name in ("output", "linkage")}
    body = urlencode({"seen": version, "do": "start:release", **places}).encode()
    assert [visitor.send("release", body).status for _ in range(2)] == [303, 303]
    assert len(visitor.waiting) == 1
    visitor.work()
    assert visitor.send("release", body).status == 303
    assert (visitor.waiting, 'id="risk"' in visitor.get("release").html) == ([], True)


def test_a_folder_that_is_gone_is_said_and_not_begun_anew(visitor: Visitor) -> None:
    before = visitor.desk.case.choices()
    visitor.folder.rename(away := visitor.folder.with_name("away"))
    said = [visitor.get(step).sentence for step in ("", "data", "record")]
    said.append(visitor.send("data", f"seen={before.version}&do=start:data&source=/".encode()).sentence)
    assert not visitor.folder.exists()
    assert [one for one in said if not one.startswith("the folder of this case is gone: put ")] == []
    away.rename(visitor.folder)
    assert visitor.desk.case.choices() == before


def test_a_clock_that_was_set_back_leaves_no_job_at_its_beginning(tmp_path: Path, desk_city: Path) -> None:
    look = Command(name="inspect", words=(str(desk_city),))
    job = Jobs(tmp_path, lambda _: None).at(tmp_path / "job", Plan(commands=(look,)))
    job.start()
    status = {"state": "starting", "at": time.time() + 3600}
    (job.folder / STATUS_FILE).write_text(json.dumps(status))
    assert state_of(job) == "interrupted"


def test_a_case_that_can_only_be_read_is_shown(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def read_alone(path: Any, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_alone)
        assert 'id="found"' in visitor.get("data").html
        version = visitor.desk.case.choices().version
        said = visitor.send("people", f"seen={version}&do=start:unit&unit=vehicle".encode()).sentence
    assert said.endswith("no permission to write there; choose another place")


def test_work_that_no_process_can_be_started_for_is_said(tmp_path: Path, desk_city: Path) -> None:
    def full(_folder: Path) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    look = Command(name="inspect", words=(str(desk_city),))
    job = Jobs(tmp_path, full).at(tmp_path / "job", Plan(commands=(look,)))
    with pytest.raises(OutputError, match="no process can be started"):
        job.start()
    assert state_of(job) == "absent"


def test_results_of_data_that_changed_are_said_to_come_back(
    newcomer: Visitor, desk_city: Path, tmp_path: Path
) -> None:
    file = tmp_path / "calls.csv"
    file.write_text(desk_city.read_text())
    newcomer.post("data", "start:data", source=str(file))
    told = "is no longer what this case went on with"
    assert told not in newcomer.get("release").html
    newcomer.post("people", "start:unit", unit="person")
    file.write_text(desk_city.read_text() + "new,1704100000,48.85,2.35\n")
    assert told in newcomer.get("release").html


def test_a_new_server_finds_everything(visitor: Visitor) -> None:
    again = Visitor(visitor.folder)
    assert again.desk.case.choices() == visitor.desk.case.choices()
    assert again.get("").headers["location"].endswith("/release")
    assert 'id="found"' in again.get("data").html


def test_work_that_ends_while_its_page_is_made_is_asked_for_again(
    newcomer: Visitor, desk_city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newcomer.send("data", f"seen=0&do=start:data&source={desk_city}".encode())
    folder, found = data_job(newcomer).folder, Work.result
    begun = (folder / STATUS_FILE).read_bytes()
    newcomer.work()
    ended = (folder / STATUS_FILE).read_bytes()
    later = result_file(folder, 0).rename(folder / "later")
    (folder / STATUS_FILE).write_bytes(begun)

    def found_before_the_end(self: Work, job: Job | None, number: int = 0) -> Any:
        result = found(self, job, number)
        if later.exists():
            later.rename(result_file(folder, 0))
            (folder / STATUS_FILE).write_bytes(ended)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(Work, "result", found_before_the_end)
        html = newcomer.get("data").html
    assert ('id="found"' in html, "data-progress=" in html) == (False, True)
    html = newcomer.get("data").html
    assert ('id="found"' in html, "data-progress=" in html) == (True, False)


def test_a_result_belongs_to_its_choices_and_to_the_file(
    newcomer: Visitor, desk_city: Path, tmp_path: Path
) -> None:
    file = tmp_path / "calls.csv"
    file.write_text(desk_city.read_text())
    newcomer.post("data", "start:data", source=str(file))
    assert 'id="found"' in newcomer.get("data").html
    newcomer.send("data", f"seen=1&do=save&source={file}&cell=200m".encode())
    assert 'id="found"' not in newcomer.get("data").html
    newcomer.send("data", f"seen=2&do=save&source={file}".encode())
    assert 'id="found"' in newcomer.get("data").html
    file.write_text(desk_city.read_text() + "new,1704100000,48.85,2.35\n")
    assert 'id="found"' not in newcomer.get("data").html


def test_a_result_belongs_to_every_file_of_a_folder(
    newcomer: Visitor, desk_city: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "calls"
    (folder / "may").mkdir(parents=True)
    file = folder / "may" / "calls.csv"
    file.write_text(desk_city.read_text())
    (folder / "notes.txt.swp").write_text("not read")
    newcomer.post("data", "start:data", source=str(folder))
    assert 'id="found"' in newcomer.get("data").html
    (folder / "notes.txt.swp").unlink()
    assert 'id="found"' in newcomer.get("data").html
    file.write_text(desk_city.read_text() + "new,1704100000,48.85,2.35\n")  # the folders stay as they are
    assert 'id="found"' not in newcomer.get("data").html


def test_nothing_is_written_into_a_folder_of_data(visitor: Visitor, desk_city: Path) -> None:
    (folder := visitor.folder / "calls").mkdir()
    (folder / "calls.csv").write_text(desk_city.read_text())
    visitor.desk.case.change(visitor.desk.case.choices().version, source=str(folder))
    away = visitor.folder / "away"
    for output, linkage in ((folder / "out", away), (away, folder / "may" / "l")):
        page = visitor.post("release", "start:release", output=output, linkage=linkage)
        assert "would lie inside the input" in page.sentence


def test_work_that_died_says_so_and_goes_on_where_it_was(tmp_path: Path, desk_city: Path) -> None:
    look = Command(name="inspect", words=(str(desk_city),))
    launched: list[Path] = []
    job = Jobs(tmp_path, launched.append).at(tmp_path / "job", Plan(commands=(look, look)))
    job.start()
    assert state_of(job) == "starting"
    WorkerHere(job.folder).run()
    first = result_file(job.folder, 0)
    made = first.stat().st_mtime_ns
    result_file(job.folder, 1).unlink()
    (job.folder / STATUS_FILE).write_text(json.dumps({"state": "running", "command": 1, "pid": 1}))
    assert state_of(job) == "interrupted"
    job.start()
    WorkerHere(launched[-1]).run()
    assert (state_of(job), len(launched)) == ("done", 2)
    assert first.stat().st_mtime_ns == made
    assert job.result(1)["subjects"] == 40


def test_a_second_worker_leaves_the_first_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_TRIES", 1)
    with hold_lock(tmp_path / LOCK_FILE) as lock:
        assert lock is not None
        WorkerHere(tmp_path).run()  # without the lock it would miss its plan
    assert list(tmp_path.iterdir()) == [tmp_path / LOCK_FILE]


def test_a_job_outlives_its_server_and_ends_when_it_is_canceled(tmp_path: Path) -> None:
    target = tmp_path / "people.parquet"
    long = Command(name="synthesize", words=(str(target),), options={"subjects": 400_000, "days": 30})
    plan = Plan(commands=(long,))
    code = (
        "import sys; from pathlib import Path; from shoal_desk.jobs import Jobs; "
        "from shoal_desk.commands import Command, Plan; folder = Path(sys.argv[1]); "
        f"plan = Plan(commands=(Command(name='synthesize', words=({str(target)!r},), "
        "options={'subjects': 400_000, 'days': 30}),)); "
        "Jobs(folder).at(folder / 'job', plan).start()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)  # the server, which ends at once
    job = Jobs(tmp_path).at(tmp_path / "job", plan)
    wait_for(lambda: has_child(job))
    assert state_of(job) == "running"
    job.cancel()
    wait_for(lambda: state_of(job) == "canceled")
    assert job.result() is None
    assert [path.name for path in tmp_path.iterdir()] == ["job"]


def test_a_job_that_is_canceled_while_it_begins_does_nothing(tmp_path: Path, desk_city: Path) -> None:
    """Its process is on its way and cannot be told yet; the same button begins it again."""
    look = Command(name="inspect", words=(str(desk_city),))
    job = Jobs(tmp_path, lambda _: None).at(tmp_path / "job", Plan(commands=(look,)))
    job.start()
    assert state_of(job) == "starting"
    job.cancel()
    WorkerHere(job.folder).run()
    assert (state_of(job), job.result()) == ("canceled", None)
    job.cancel()
    job.start()
    WorkerHere(job.folder).run()
    assert state_of(job) == "done"


def test_a_killed_worker_leaves_its_command_under_way(tmp_path: Path) -> None:
    target = tmp_path / "people.parquet"
    long = Command(name="synthesize", words=(str(target),), options={"subjects": 400_000, "days": 30})
    job = Jobs(tmp_path).at(tmp_path / "job", Plan(commands=(long,)))
    job.start()
    wait_for(lambda: has_child(job))
    pid = json.loads((job.folder / STATUS_FILE).read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or state_of(job) != "running")
    assert state_of(job) == "running"  # no second one may begin beside it
    job.cancel()
    wait_for(lambda: state_of(job) == "interrupted")
    assert not target.exists()


@pytest.mark.parametrize(("commands", "state"), [(1, "done"), (2, "canceled")])
def test_a_job_whose_last_command_ended_before_it_was_canceled_is_done(
    commands: int, state: str, tmp_path: Path, desk_city: Path
) -> None:
    class CanceledAfterTheCommand(WorkerHere):
        def run_command(self, *command: Any) -> int:
            code = super().run_command(*command)
            self.stop()
            return code

    look = Command(name="inspect", words=(str(desk_city),))
    job = Jobs(tmp_path, lambda _: None).at(tmp_path / "job", Plan(commands=(look,) * commands))
    job.start()
    CanceledAfterTheCommand(job.folder).run()
    assert state_of(job) == state
    assert job.result() is not None


@pytest.mark.parametrize("commands", [1, 2])
@pytest.mark.parametrize("cut", [False, True])
def test_what_a_command_ends_after_its_worker_was_killed_is_kept(
    cut: bool, commands: int, tmp_path: Path, desk_city: Path
) -> None:
    look = Command(name="inspect", words=(str(desk_city),))
    launched: list[Path] = []
    job = Jobs(tmp_path, launched.append).at(tmp_path / "job", Plan(commands=(look,) * commands))
    job.start()
    WorkerHere(job.folder).run()
    result_file(job.folder, commands - 1).unlink(missing_ok=True)
    printed = result_file(job.folder, 0)
    text = printed.read_text() if commands == 2 else json.dumps({"subjects": 40})
    printed.unlink(missing_ok=True)
    (job.folder / "0.partial").write_text(text[: len(text) // 2] if cut else text)
    (job.folder / STATUS_FILE).write_text(json.dumps({"state": "running", "command": 0, "pid": 1}))
    assert state_of(job) == ("done" if commands == 1 and not cut else "interrupted")
    assert (job.result() is None) == cut
    made = None if cut else result_file(job.folder, 0).stat().st_mtime_ns
    job.start()
    for folder in launched[1:]:
        WorkerHere(folder).run()
    assert state_of(job) == "done"
    assert cut or result_file(job.folder, 0).stat().st_mtime_ns == made
    assert job.result(commands - 1)["subjects"] == 40


def state_of(job: Job) -> str:
    """How a job stands now; a property would be taken for one that stays as it was."""
    return str(job.state)


def has_child(job: Job) -> bool:
    """Whether the worker of a job has begun a command."""
    file = job.folder / STATUS_FILE
    pid = json.loads(file.read_text()).get("pid") if file.exists() else None
    parents = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True, check=True).stdout
    return str(pid) in parents.split()


def wait_for(true: object, seconds: float = 100) -> None:
    """Wait until something is so."""
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_progress_is_told_through_a_file(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    assert read_progress(file) is None
    tell = ProgressFile(file)
    tell("merging", 0, 10)
    tell("merging", 5, 10)  # too soon to be written
    seen = read_progress(file)
    assert seen is not None
    assert (seen.label, seen.done, seen.total, seen.left_s) == ("merging", 0, 10, None)
    tell("merging", 10, 10)
    tell("checking", 1, 4)
    seen = read_progress(file)
    assert seen is not None
    assert (seen.label, seen.done, seen.total) == ("checking", 1, 4)
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_holds_a_case_says_so_and_still_offers_sample_data(
    newcomer: Visitor, desk_city: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(folder: Path, _port: int, ready: Callable[[str], None], *, open_browser: bool) -> None:
        assert (folder, open_browser) == (newcomer.folder, False)
        ready("http://here")

    monkeypatch.setattr("shoal_desk.app.serve_desk", serve)
    words = ("desk", "--folder", newcomer.folder, "--no-browser")
    assert "holds a case" not in shoal(*words).err
    assert ('id="case"' in newcomer.get("data").html, 'value="sample"' in newcomer.get("data").html) == (
        False,
        True,
    )
    newcomer.post("data", "start:data", source=str(desk_city))
    assert 'id="case"' not in newcomer.get("data").html  # who has just named the file knows
    page = Visitor(newcomer.folder).get("data").html
    assert f"This folder holds a case of {desk_city}, which goes on here." in page
    assert 'value="sample"' in page
    assert (
        f"{newcomer.folder} holds a case, which goes on; another --folder begins another" in shoal(*words).err
    )
