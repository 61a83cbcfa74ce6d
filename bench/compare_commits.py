"""Compare two checkouts of shoal: do they write the same releases and reach the same verdicts?

    python bench/compare_commits.py OLD NEW --folder DIR [--jobs 2]

OLD and NEW are folders with a checkout and its ``.venv`` (``./dev python -c ""`` makes one). Both run only as
command lines, so their modules may differ. Everything that OLD does is stored in DIR: the data, releases by
each method, broken copies of these releases, and OLD's answers. A later run with the same DIR and OLD uses
these files, and runs only NEW.

Compared to the byte: release.parquet, the linkage and origin.parquet. Compared by value: the manifest and the
JSON documents, where a text without blanks is a value and a text with blanks is a sentence (in the manifest
only under "verdict": its other sentences are part of the release). Not compared: the fields in NOT_COMPARED.
Each line of the table ends with one of four outcomes: "same"; "other words", where only sentences differ;
"other numbers in words", where a sentence has other numbers than before, which a person should look at; or
"DIFFERS". Exit 1 where something differs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from compare_cases import RUNS, SYNTHESIZED, Question, Run, questions, write_other_data
from compare_damages import DAMAGES, Package, sha256

NOT_COMPARED = {
    "shoal_version": "the version that wrote the release",
    "not_after_s": "the day on which the data were read",
    "report_sha256": "the report is compared on its own: its words may differ",
}
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
TAG = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL)
CRASHED = "SHOAL_TRACEBACK"  # in the message of an error that shoal does not expect
SHOWN = 4  # differences of one line of the table


@dataclass(frozen=True)
class Answer:
    """What a command answered: exit code, the JSON document if there is one, and messages."""

    code: int
    document: Any
    messages: list[dict[str, Any]]  # without times; progress and compiling, which vary, are left out

    def write(self, path: Path, words: Sequence[str]) -> None:
        """Store it with the words that it answers."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"words": list(words), "code": self.code, "document": self.document}
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({**content, "messages": self.messages}, indent=1))
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path, words: Sequence[str]) -> "Answer | None":
        """The stored answer to these words, None where there is none."""
        if not path.exists():
            return None
        content = json.loads(path.read_text())
        if content.pop("words") != list(words):
            return None
        return cls(**content)


def ask(checkout: Path, words: Sequence[str], folder: Path) -> Answer:
    """Run a command of a checkout in a folder."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(checkout / ".venv" / "bin" / "shoal"), *words]
    process = subprocess.run(
        command, check=False, cwd=folder, env=surroundings, capture_output=True, text=True
    )
    try:
        document = json.loads(process.stdout)
    except ValueError:
        document = process.stdout
    return Answer(process.returncode, document, list(messages_of(process.stderr)))


def messages_of(log: str) -> Iterator[dict[str, Any]]:
    """The messages of a log of JSON lines; a line of another form, such as a traceback's, is one as well."""
    for line in log.splitlines():
        try:
            message = json.loads(line)
            message.pop("time")
        except ValueError:
            message = {"level": "none", "message": line}
        if message["level"] != "progress" and "compil" not in message["message"].lower():
            yield message


class Outcome(IntEnum):
    """How much two answers differ."""

    SAME = 0
    WORDS = 1
    NUMBERS = 2
    DIFFERS = 3


OUTCOMES = ("same", "other words", "other numbers in words", "DIFFERS")


@dataclass
class Comparison:
    """The differences of one line of the table."""

    outcome: Outcome = Outcome.SAME
    lines: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome, where: str, old: object, new: object) -> None:
        """Note a difference."""
        self.outcome = max(self.outcome, outcome)
        self.lines.append(f"{OUTCOMES[outcome]}: {where}: {shortened(old)} -> {shortened(new)}")

    def values(self, old: Any, new: Any, where: str, *, sentences: bool = True) -> None:
        """Compare two JSON values; with sentences, texts with blanks may have other words."""
        if isinstance(old, dict) and isinstance(new, dict):
            if list(old) != list(new):
                self.add(Outcome.DIFFERS, f"{where} (entries)", list(old), list(new))
            for name in [name for name in old if name in new and name not in NOT_COMPARED]:
                self.values(old[name], new[name], f"{where}.{name}", sentences=sentences or name == "verdict")
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                self.add(Outcome.DIFFERS, f"{where} (number)", len(old), len(new))
            for at, (one, other) in enumerate(zip(old, new, strict=False)):
                self.values(one, other, f"{where}[{at}]", sentences=sentences)
        elif isinstance(old, str) and isinstance(new, str) and sentences and " " in old and " " in new:
            self.words(old, new, where)
        elif type(old) is not type(new) or (old != new and (old == old or new == new)):
            self.add(Outcome.DIFFERS, where, old, new)

    def words(self, old: str, new: str, where: str) -> None:
        """Compare two texts for people."""
        if old != new:
            equal = sorted(NUMBER.findall(old)) == sorted(NUMBER.findall(new))
            self.add(Outcome.WORDS if equal else Outcome.NUMBERS, where, old, new)

    def answers(self, old: Answer, new: Answer) -> None:
        """Compare exit codes, documents and messages."""
        if old.code != new.code:
            self.add(Outcome.DIFFERS, "exit code", f"{old.code} {old.messages}", f"{new.code} {new.messages}")
        self.values(old.document, new.document, "")
        self.values(old.messages, new.messages, "messages")
        if CRASHED in str(new.messages) and CRASHED not in str(old.messages):
            self.add(Outcome.DIFFERS, "unexpected error", old.messages, new.messages)

    def files(self, old: Path, new: Path) -> None:
        """Compare the files of two releases."""
        names = [sorted(str(path.relative_to(at)) for path in at.rglob("*")) for at in (old, new)]
        names = [[name for name in listed if name != "answer.json"] for listed in names]
        if names[0] != names[1]:
            self.add(Outcome.DIFFERS, "files", *names)
        for name in ("release/release.parquet", "linkage.parquet", "origin.parquet"):
            if (old / name).exists() and (new / name).exists() and sha256(old / name) != sha256(new / name):
                self.add(Outcome.DIFFERS, name, sha256(old / name), sha256(new / name))
        if all((at / "release" / "manifest.json").exists() for at in (old, new)):
            before, after = (json.loads((at / "release" / "manifest.json").read_text()) for at in (old, new))
            self.values(before, after, "manifest", sentences=False)
            pages = [page_text(at / "release" / "report.html") for at in (old, new)]
            self.words(pages[0], pages[1], "report.html")


def shortened(value: object, most: int = 160) -> str:
    """A value on one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[:most] + "..."


def page_text(path: Path) -> str:
    """What a page says, without its drawing."""
    return " ".join(TAG.sub(" ", path.read_text()).split())


def make_data(old: Path, folder: Path) -> None:
    """The data of all runs."""
    folder.mkdir(parents=True, exist_ok=True)
    for words in SYNTHESIZED:
        answer = ask(old, ["synthesize", *words], folder)
        if answer.code:
            raise SystemExit(str(answer.messages))
    write_other_data(folder)


def publish(checkout: Path, run: Run, folder: Path) -> Answer:
    """Make a release, or read the stored answer if it is there already."""
    stored = Answer.read(folder / "answer.json", run.command())
    if stored is not None:
        return stored
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    answer = ask(checkout, run.command(), folder)
    answer.write(folder / "answer.json", run.command())
    return answer


def break_releases(releases: Path) -> None:
    """Make the broken copies that are not there yet."""
    for name, damages in DAMAGES.items():
        for damage, apply in damages.items():
            broken, unfinished = releases / f"{name}+{damage}", releases / "unfinished"
            if not broken.exists():
                shutil.rmtree(unfinished, ignore_errors=True)
                shutil.copytree(releases / name, unfinished)
                apply(Package(unfinished))
                unfinished.replace(broken)


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, and whether files differ from it."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def require_same_old(folder: Path, old: Path) -> None:
    """Refuse a folder whose releases another commit made."""
    mark, commit = folder / "old-commit", commit_of(old)
    if not mark.exists():
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(commit)
    if mark.read_text() != commit:
        raise SystemExit(f"{folder} was made with {mark.read_text()}, not {commit}; name another --folder")


def compare_runs(
    old: Path, new: Path, folder: Path, pool: ThreadPoolExecutor
) -> Iterator[tuple[str, Comparison]]:
    """Every run in both checkouts."""
    before = pool.map(lambda run: publish(old, run, folder / "releases" / run.name), RUNS)
    after = pool.map(lambda run: publish(new, run, folder / "new" / run.name), RUNS)
    for run, first, second in zip(RUNS, before, after, strict=True):
        comparison = Comparison()
        comparison.answers(first, second)
        comparison.files(folder / "releases" / run.name, folder / "new" / run.name)
        yield run.name, comparison


def answer_stored(old: Path, question: Question, folder: Path) -> Answer:
    """The old checkout's answer, stored for the next comparison."""
    path = folder / "answers" / question.command / f"{question.name}.json"
    answer = Answer.read(path, question.words)
    if answer is None:
        answer = ask(old, [question.command, *question.words], place(question, folder))
        answer.write(path, question.words)
    return answer


def place(question: Question, folder: Path) -> Path:
    """The folder in which a question is asked."""
    if question.release == "data":
        return folder / "data"
    where = folder / "releases" / question.release
    where.mkdir(parents=True, exist_ok=True)
    return where


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="the checkout to compare with")
    parser.add_argument("new", type=Path, help="the checkout to examine")
    parser.add_argument(
        "--folder", type=Path, required=True, help="where data, releases and answers are stored"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at once")
    options = parser.parse_args(arguments)
    old, new, folder = (path.resolve() for path in (options.old, options.new, options.folder))
    require_same_old(folder, old)
    if not (folder / "data" / "edges.parquet").exists():
        make_data(old, folder / "data")
    shutil.rmtree(folder / "new", ignore_errors=True)
    print(f"old {commit_of(old)}, new {commit_of(new)}")
    counts: dict[str, Counter[Outcome]] = {}
    codes: Counter[int] = Counter()

    def show(command: str, name: str, comparison: Comparison) -> None:
        counts.setdefault(command, Counter())[comparison.outcome] += 1
        print(f"{command:9}  {name:44}  {OUTCOMES[comparison.outcome]}", flush=True)
        worst = [line for line in comparison.lines if line.startswith(OUTCOMES[comparison.outcome])]
        for line in worst[:SHOWN]:
            print(f"{'':11}{line}")

    with ThreadPoolExecutor(options.jobs) as pool:
        for name, comparison in compare_runs(old, new, folder, pool):
            show("anonymize", name, comparison)
        break_releases(folder / "releases")
        asked = questions()
        before = pool.map(lambda one: answer_stored(old, one, folder), asked)
        after = pool.map(lambda one: ask(new, [one.command, *one.words], place(one, folder)), asked)
        for one, first, second in zip(asked, before, after, strict=True):
            comparison = Comparison()
            comparison.answers(first, second)
            codes[first.code] += one.command == "verify"
            show(one.command, one.name, comparison)
    exits = ", ".join(f"{number} with exit {code}" for code, number in sorted(codes.items()))
    print(f"\nverify in the old checkout: {exits}; not compared: {', '.join(NOT_COMPARED)}")
    print("; ".join(f"{command} {summary(count)}" for command, count in counts.items()))
    return int(any(count[Outcome.DIFFERS] for count in counts.values()))


def summary(count: Counter[Outcome]) -> str:
    """The number of each outcome."""
    return ", ".join(f"{count[outcome]} {OUTCOMES[outcome]}" for outcome in Outcome)


if __name__ == "__main__":
    sys.exit(main())
