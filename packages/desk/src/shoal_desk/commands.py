"""From choices to commands: the words of each, as a TOML file, and all of them as a script."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shoal.methods import METHODS
from shoal_desk.case import Choices
from shoal_desk.pdf import can_print
from shoal_desk.recipients import for_studies, on_payload
from shoal_desk.settings import fields_of, needs_streets, options_of

Value = str | int | bool | Sequence[str]

STUDY_FILE: Final = "study.toml"
STATEMENT_FILE: Final = "statement.toml"
RELEASE_FILE: Final = "release.toml"
_LAYOUT_OF_RELEASE: Final = ("cell", "slot")  # the manifest says them to whoever checks
_BUDGET: Final = "points:4"


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of shoal.

    Parameters
    ----------
    name
        Its name.
    words
        What stands before its options.
    options
        Its options by name, without dashes; a list is an option that is repeated, True one without a value,
        False the same with no- in front.
    kept
        The file that takes its standard output, where a later command reads it.
    """

    name: str
    words: tuple[str, ...]
    options: Mapping[str, Value] = field(default_factory=dict)
    kept: Path | None = None

    def arguments(self) -> list[str]:
        """As a process takes them."""
        found = [self.name, *self.words]
        for option, value in self.options.items():
            if isinstance(value, bool):
                found += [f"--{option}" if value else f"--no-{option}"]
            elif isinstance(value, str | int):
                found += [f"--{option}", str(value)]
            else:
                for one in value:
                    found += [f"--{option}", one]
        return found

    def shown(self) -> str:
        """As somebody would type it in a shell."""
        line = shlex.join(["shoal", *self.arguments()])
        return line if self.kept is None else f"{line} --json > {shlex.quote(str(self.kept))}"

    def toml(self) -> str:
        """Its options as a file for ``--config``."""
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.options.items())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Commands that are run one after the other, and files that are written before.

    files: texts by path.
    """

    commands: tuple[Command, ...]
    files: Mapping[Path, str] = field(default_factory=dict)


def inspect_plan(choices: Choices, *, unit: bool) -> Plan:
    """Look at the data. unit: as the chosen unit of protection has it."""
    options = _reading(choices) | (_unit(choices) if unit else {})
    return Plan(commands=(Command(name="inspect", words=(choices.source,), options=options),))


def study_plan(choices: Choices, folder: Path) -> Plan:
    """Several releases of a sample, attacked and measured alike."""
    file = folder / STUDY_FILE
    knowledge = tuple(dict.fromkeys([_BUDGET, *for_studies(choices.knowledge)]))
    lines = [
        f"knowledge = {_toml(knowledge)}",
        f"tries = {choices.tries}",
        f"people = {choices.sample}",
        "hold_out = 0",
        *(
            f"\n[[runs]]\nmethod = {_toml(name)}\nk = {json.dumps(list(choices.ks))}"
            for name in choices.methods
        ),
    ]
    options = _reading(choices) | _unit(choices) | {"config": str(file), "output": str(folder / "study")}
    return Plan(
        commands=(Command(name="compare", words=(choices.source,), options=options),),
        files={file: "\n".join(lines) + "\n"},
    )


def anonymize_command(choices: Choices, folder: Path) -> Command:
    """Write the release."""
    reading = _reading(choices)
    if METHODS[choices.method].about.publishes == "points":
        reading = {name: value for name, value in reading.items() if name not in _LAYOUT_OF_RELEASE}
    own = {field.option for field in fields_of(choices.method, {})}
    options: dict[str, Value] = {"method": choices.method, "k": choices.k}
    options |= options_of(choices.method, choices.settings)
    options |= {f"reading-{name}" if name in own else name: value for name, value in reading.items()}
    options |= (
        _filled(choices.streets) | _unit(choices) | {"output": choices.output, "linkage": choices.linkage}
    )
    if choices.private_report:
        options["private-report"] = choices.private_report
    if purpose_of(choices):
        options["record"] = str(folder / STATEMENT_FILE)
    return Command(
        name="anonymize",
        words=(choices.source,),
        options=options | {"risk-tries": choices.tries, "resume": True},
    )


def release_plan(choices: Choices, folder: Path, results: Path) -> Plan:
    """Write the release, verify it, and attack it. results: where the attacks' rates will lie."""
    anonymize = anonymize_command(choices, folder)
    texts = on_payload(choices.knowledge, METHODS[choices.method].about.publishes)
    stated = purpose_of(choices)
    return Plan(
        commands=(
            anonymize,
            Command(
                name="verify",
                words=(choices.source, choices.output),
                options=_linked(choices) | _streets(choices),
            ),
            Command(
                name="attack",
                words=(choices.source, choices.output),
                options=_linked(choices) | {"knowledge": texts, "tries": choices.tries},
                kept=results,
            ),
        ),
        files={
            folder / RELEASE_FILE: anonymize.toml(),
            **({folder / STATEMENT_FILE: _table(stated)} if stated else {}),
        },
    )


def class_plan(choices: Choices) -> Plan:
    """What each adversary makes of the members of one class."""
    texts = on_payload(choices.knowledge, METHODS[choices.method].about.publishes)
    return Plan(
        commands=(
            Command(
                name="attack",
                words=(choices.source, choices.output),
                options=_linked(choices) | {"knowledge": texts, "like": choices.shown_class},
            ),
        )
    )


def record_plan(choices: Choices, folder: Path, results: Path, language: str) -> Plan:
    """Write the record to sign."""
    file = folder / "record.toml"
    stated = purpose_of(choices) | {name: text for name, text in choices.statement.items() if text}
    return Plan(
        commands=(
            Command(
                name="record",
                words=(choices.source, choices.output),
                options=_linked(choices)
                | {
                    "attacks": str(results),
                    "statement": str(file),
                    "recipient": [f"{name}={','.join(texts)}" for name, texts in choices.recipients.items()],
                    "language": language,
                    "output": choices.record,
                }
                | ({"pdf": str(Path(choices.record).with_suffix(".pdf"))} if can_print() else {})
                | _filled(choices.streets),
            ),
        ),
        files={file: _table(stated)},
    )


def script(plans: Sequence[Plan]) -> str:
    """All commands as a shell script, with the files that they read."""
    lines = [
        "#!/bin/sh",
        "# Every step of the desk, as commands. The paths are those of this machine.",
        "set -eu",
    ]
    for plan in plans:
        for path, text in plan.files.items():
            lines += [f"cat > {shlex.quote(str(path))} <<'END_OF_FILE'", text.rstrip("\n"), "END_OF_FILE"]
        lines += [command.shown() for command in plan.commands]
    return "\n".join(lines) + "\n"


def purpose_of(choices: Choices) -> dict[str, str]:
    """What the release itself states."""
    stated = {"purpose": choices.purpose, "recipients": choices.recipients_words}
    return {name: text for name, text in stated.items() if text}


def _reading(choices: Choices) -> dict[str, Value]:
    return _filled(choices.reading)


def _streets(choices: Choices) -> dict[str, Value]:
    """The street graph, for a method that works on one."""
    if not needs_streets(choices.method):
        return {}
    return {name: text for name, text in _filled(choices.streets).items() if name != "tiles"}


def _linked(choices: Choices) -> dict[str, Value]:
    """How a command finds who became which record; the manifest has the rest of the reading."""
    cells: dict[str, Value] = {name: text for name, text in choices.reading.items() if name == "cells"}
    return {"linkage": choices.linkage} | cells


def _unit(choices: Choices) -> dict[str, Value]:
    person: dict[str, Value] = {"person": choices.person} if choices.person else {}
    return person | ({"per-day": True} if choices.per_day else {})


def _filled(named: Mapping[str, str]) -> dict[str, Value]:
    return {name: text for name, text in named.items() if text}


def _table(entries: Mapping[str, str]) -> str:
    return "".join(f"{name} = {_toml(text)}\n" for name, text in entries.items())


def _toml(value: Value) -> str:
    """A value in TOML, whose basic strings are those of JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool | int):
        return json.dumps(value)
    return json.dumps(list(value), ensure_ascii=False)
