"""From choices to commands, a TOML file, and a script."""

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
from shoal_desk.settings import fields_of, needs_streets, options_of, recommended_settings
from shoal_desk.words import Words

Value = str | int | bool | Sequence[str]

STUDY_FILE: Final = "study.toml"
STATEMENT_FILE: Final = "statement.toml"
RELEASE_FILE: Final = "release.toml"
_LAYOUT_OF_RELEASE: Final = ("cell", "slot")  # the manifest says them to whoever checks
SWITCHES: Final = ("ids-as-they-are", "lose-people")  # options without a value
_BUDGET: Final = "points:4"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of shoal.

    words: arguments before the options. options: by name, without dashes; a list repeats, True has no
    value, False is no-. output_file: takes standard output.
    """

    name: str
    words: tuple[str, ...]
    options: Mapping[str, Value] = field(default_factory=dict)
    output_file: Path | None = None

    def arguments(self) -> list[str]:
        """The arguments of a process."""
        parts = [self.name, *self.words]
        for option, value in self.options.items():
            if isinstance(value, bool):
                parts += [f"--{option}" if value else f"--no-{option}"]
            elif isinstance(value, str | int):
                parts += [f"--{option}", str(value)]
            else:
                for item in value:
                    parts += [f"--{option}", item]
        return parts

    def shell_line(self) -> str:
        """As typed in a shell."""
        line = shlex.join(["shoal", *self.arguments()])
        return line if self.output_file is None else f"{line} --json > {shlex.quote(str(self.output_file))}"

    def toml(self) -> str:
        """For ``--config``."""
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.options.items())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Commands in order, and files to write before."""

    commands: tuple[Command, ...]
    files: Mapping[Path, str] = field(default_factory=dict)


def inspect_plan(choices: Choices, *, unit: bool) -> Plan:
    """Inspect the data, perhaps by the chosen unit of protection."""
    options = _reading(choices) | (_unit(choices) if unit else {})
    return Plan(commands=(Command(name="inspect", words=(choices.source,), options=options),))


def study_plan(choices: Choices, folder: Path) -> Plan:
    """Releases of a sample, attacked and measured."""
    file = folder / STUDY_FILE
    knowledge = tuple(dict.fromkeys([_BUDGET, *for_studies(choices.knowledge)]))
    lines = [
        f"knowledge = {_toml(knowledge)}",
        f"tries = {choices.tries}",
        f"people = {choices.sample}",
        "hold_out = 0",
        *(
            f"\n[[runs]]\nmethod = {_toml(name)}\nk = {json.dumps(list(choices.ks))}"
            + "".join(
                f"\n{option} = {_toml(value)}"
                for option, value in options_of(
                    name, recommended_settings(name, choices.reading.get("cell", ""))
                ).items()
            )
            for name in choices.methods
        ),
    ]
    options = _reading(choices) | _unit(choices) | {"config": str(file), "output": str(folder / "study")}
    return Plan(
        commands=(Command(name="compare", words=(choices.source,), options=options),),
        files={file: "\n".join(lines) + "\n"},
    )


def advice_plan(choices: Choices) -> Plan:
    """Trial releases of a sample, measured and attacked."""
    options = _reading(choices) | _unit(choices) | ({"for": choices.uses} if choices.uses else {})
    return Plan(commands=(Command(name="advise", words=(choices.source,), options=options),))


def anonymize_command(choices: Choices, folder: Path) -> Command:
    """Write the release."""
    reading = _reading(choices)
    if METHODS[choices.method].about.publishes == "points":
        reading = {name: value for name, value in reading.items() if name not in _LAYOUT_OF_RELEASE}
    option_names = {field.option for field in fields_of(choices.method, {})}
    options: dict[str, Value] = {"method": choices.method, "k": choices.k}
    options |= options_of(choices.method, choices.settings)
    options |= {f"reading-{name}" if name in option_names else name: value for name, value in reading.items()}
    options |= (
        _set_options(choices.streets)
        | _unit(choices)
        | {"output": choices.output, "linkage": choices.linkage}
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
    """The commands that write, verify and attack the release."""
    anonymize = anonymize_command(choices, folder)
    texts = on_payload(choices.knowledge, METHODS[choices.method].about.publishes)
    statement = purpose_of(choices)
    return Plan(
        commands=(
            anonymize,
            Command(
                name="verify",
                words=(choices.source, choices.output),
                options=_linkage_options(choices) | _streets(choices),
            ),
            Command(
                name="attack",
                words=(choices.source, choices.output),
                options=_linkage_options(choices) | {"knowledge": texts, "tries": choices.tries},
                output_file=results,
            ),
        ),
        files={
            folder / RELEASE_FILE: anonymize.toml(),
            **({folder / STATEMENT_FILE: _table(statement)} if statement else {}),
        },
    )


def class_plan(choices: Choices) -> Plan:
    """Attack one class."""
    texts = on_payload(choices.knowledge, METHODS[choices.method].about.publishes)
    return Plan(
        commands=(
            Command(
                name="attack",
                words=(choices.source, choices.output),
                options=_linkage_options(choices) | {"knowledge": texts, "like": choices.shown_class},
            ),
        )
    )


def record_plan(choices: Choices, folder: Path, results: Path, language: str) -> Plan:
    """Write the record to sign."""
    file, words = folder / "record.toml", Words(language)
    unit = choices.unit and f"{words(f'people.{choices.unit}')}: {words(f'people.{choices.unit}_means')}"
    statements = purpose_of(choices) | {
        name: text for name, text in {"unit": unit, **choices.statement}.items() if text
    }
    return Plan(
        commands=(
            Command(
                name="record",
                words=(choices.source, choices.output),
                options=_linkage_options(choices)
                | {
                    "attacks": str(results),
                    "statement": str(file),
                    "recipient": [f"{name}={','.join(texts)}" for name, texts in choices.recipients.items()],
                    "language": language,
                    "output": choices.record,
                }
                | ({"pdf": str(Path(choices.record).with_suffix(".pdf"))} if can_print() else {})
                | _set_options(choices.streets),
            ),
        ),
        files={file: _table(statements)},
    )


def script(plans: Sequence[Plan]) -> str:
    """All commands and their files."""
    lines = [
        "#!/bin/sh",
        "# Every step of the desk, as commands. The paths are those of this machine.",
        "set -eu",
    ]
    for plan in plans:
        for path, text in plan.files.items():
            lines += [f"cat > {shlex.quote(str(path))} <<'END_OF_FILE'", text.rstrip("\n"), "END_OF_FILE"]
        lines += [command.shell_line() for command in plan.commands]
    return "\n".join(lines) + "\n"


def purpose_of(choices: Choices) -> dict[str, str]:
    """The statements in the release."""
    statement = {"purpose": choices.purpose, "recipients": choices.recipients_words}
    return {name: text for name, text in statement.items() if text}


def _reading(choices: Choices) -> dict[str, Value]:
    return _set_options(choices.reading)


def _streets(choices: Choices) -> dict[str, Value]:
    if not needs_streets(choices.method):
        return {}
    return {name: text for name, text in _set_options(choices.streets).items() if name != "tiles"}


def _linkage_options(choices: Choices) -> dict[str, Value]:
    """The manifest has the rest of the reading."""
    cells: dict[str, Value] = {name: text for name, text in choices.reading.items() if name == "cells"}
    return {"linkage": choices.linkage} | cells


def _unit(choices: Choices) -> dict[str, Value]:
    person: dict[str, Value] = {"person": choices.person} if choices.person else {}
    return person | ({"per-day": True} if choices.per_day else {})


def _set_options(named: Mapping[str, str]) -> dict[str, Value]:
    return {name: name in SWITCHES or text for name, text in named.items() if text}


def _table(entries: Mapping[str, str]) -> str:
    return "".join(f"{name} = {_toml(text)}\n" for name, text in entries.items())


def _toml(value: Value) -> str:
    """Basic strings are those of JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool | int):
        return json.dumps(value)
    return json.dumps(list(value), ensure_ascii=False)
