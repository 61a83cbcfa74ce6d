"""Step 5: the release is written, verified, attacked."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError, ShoalError
from shoal.io.sources.named_files import require_outside
from shoal.local_pages.forms import Form, RefusedError, read_entry
from shoal.messages import messages_in
from shoal.methods import METHODS
from shoal.model.claims import CLAIMS
from shoal.model.release import Release
from shoal.report.words.numbers import meters, seconds
from shoal.units import percent
from shoal.utility.facts import crowds_of
from shoal.utility.usefulness import ways_out
from shoal_desk.case import Choices
from shoal_desk.commands import release_plan
from shoal_desk.desk import Desk, Work
from shoal_desk.entries import new_path
from shoal_desk.maps import density_map
from shoal_desk.risk import risks_of, strongest_first
from shoal_desk.settings import K, fields_of, settings_from
from shoal_desk.sightings import Fit, Sighting, records_that_fit
from shoal_desk.steps.step import Step
from shoal_desk.steps.ways import choices_of_trial, free_path, trial_rows
from shoal_desk.words import Words

_CLASSES_SHOWN: Final = 30
SIGHTINGS: Final = 4
_EXTENTS: Final = (
    ("position-kept", percent),
    ("time-kept", percent),
    ("within-both", percent),
    ("median-space", meters),
    ("mean-space", meters),
    ("median-time", seconds),
    ("mean-time", seconds),
)


def _take(choices: Choices, form: Form) -> dict[str, Any]:
    if "trial" in form:
        return choices_of_trial(form.one("trial"), choices)
    if "ways" in form:
        return {}
    if "like" in form:
        return {"shown_class": form.one("like")}
    settings = settings_from(form, choices.method, settings_of(choices))
    k = int(settings.pop(K, fields_of(choices.method, {})[0].default))
    places: dict[str, Any] = {
        "output": form.one("output"),
        "linkage": form.one("linkage"),
        "private_report": form.one("private_report") if "private" in form else "",
    }
    keys = {
        "output": "error.no_output",
        "linkage": "error.no_linkage",
        "private_report": "error.no_private_report",
    }
    for name, text in places.items():
        if name == "private_report" and "private" not in form:
            continue
        if not text or text != getattr(choices, name):
            places[name] = str(new_path(text, keys[name]))
    read_entry(lambda: require_outside(choices.source, *(Path(text) for text in places.values() if text)))
    secret = [Path(places[name]) for name in ("linkage", "private_report") if places[name]]
    if any(file.is_relative_to(places["output"]) for file in secret):
        raise RefusedError("error.secret_inside")
    if len(set(secret)) < len(secret):
        raise RefusedError("error.same_file")
    return places | {"k": k, "settings": settings, "shown_class": ""}


def settings_of(choices: Choices) -> dict[str, str]:
    """Every parameter, including k."""
    return {K: str(choices.k), **choices.settings}


def classes_of(release: Release) -> list[dict[str, Any]]:
    """Records with the sizes of classes and boxes, the smallest first."""
    if release.kind == "points":
        return []
    crowds = crowds_of(release)
    _, first, sizes = np.unique(crowds, return_index=True, return_counts=True)
    order = np.argsort(sizes, kind="stable")[:_CLASSES_SHOWN]
    boxes = np.diff(release.offsets)
    return [
        {
            "record": release.trajectory_ids[int(first[at])],
            "size": int(sizes[at]),
            "boxes": int(boxes[int(first[at])]),
        }
        for at in order.tolist()
    ]


def find(desk: Desk, choices: Choices, form: Form) -> Fit:
    """Count the records that match a form's times and places."""
    sightings = []
    for number in range(SIGHTINGS):
        when, first, second = (form.one(f"{name}-{number}") for name in ("when", "lat", "lon"))
        if not (when or first or second):
            continue
        planar = bool(form.one("planar"))
        sightings.append(read_entry(partial(Sighting.of, when, first, second, planar=planar)))
    if not sightings:
        raise RefusedError("error.no_sighting")
    return read_entry(lambda: records_that_fit(desk.release(choices), sightings))


def _content(desk: Desk, work: Work, words: Words) -> dict[str, Any]:
    choices, folder = work.choices, desk.folder
    content: dict[str, Any] = {
        "defaults": _places(work, folder),
        "written": work.result(work.release),
        "verdict": work.result(work.release, 1),
        "attacked": work.result(work.release, 2),
        "sightings": range(SIGHTINGS),
        "settings": fields_of(choices.method, settings_of(choices)),
        "no_anonymity": _no_anonymity(work),
    }
    content["planned"] = _preview_plan(choices, content["defaults"], folder)
    if content["written"] is not None:
        content |= _release_view(desk, work, words)
        content["extents"] = [
            (words(f"extent.{name}"), words.number(text(row["raw_samples"])))
            for name, text in _EXTENTS
            if (row := content["written"]["accuracy"].get(name)) is not None
            and row["raw_samples"] is not None
        ]
    if content["attacked"] is not None:
        rates, kind = content["attacked"]["attacks"], METHODS[choices.method].about.publishes
        content["rates"] = strongest_first(rates, kind)
        content["risks"] = risks_of(
            choices.recipients, rates, kind, tries=content["attacked"]["command"]["tries"]
        )
    written, risks = content["written"], content.get("risks", ())
    useless = written is not None and usefulness_is_none(written["usefulness"])
    content["useless"] = useless
    made_with = {**choices.settings, "k": choices.k, "per_day": choices.per_day}
    above = any(one.is_above for one in risks)
    cautions = messages_in([] if written is None else written["cautions"])
    stations = any(caution.identifier.startswith("stations.") for caution in cautions)
    content["ways"] = ways_out(for_use=useless, for_risk=above, made_with=made_with, stations=stations)
    advised = work.result(work.advice)
    content["advised"], content["trials"] = advised, [] if advised is None else trial_rows(advised, words)
    of_class = work.result(work.shown_class)
    if of_class is not None:
        content["beliefs"] = strongest_first(of_class["attacks"], METHODS[choices.method].about.publishes)
    return content


def usefulness_is_none(usefulness: Mapping[str, Any] | None) -> bool:
    """Whether it was measured, and no use was answered with "yes" or "roughly"."""
    return usefulness is not None and not any(
        use["answer"] in ("yes", "roughly") for use in usefulness["uses"].values()
    )


def _places(work: Work, folder: Path) -> dict[str, str]:
    """Or new names if an earlier release has them."""
    choices = work.choices
    places = {
        "output": Path(choices.output or folder / "release"),
        "linkage": Path(choices.linkage or folder / "secret" / "linkage.parquet"),
        "private_report": Path(choices.private_report or folder / "secret" / "private-report.html"),
    }
    if work.release is None or work.release.state == "absent":
        places = {name: free_path(path) for name, path in places.items()}
    return {name: str(path) for name, path in places.items()}


def _preview_plan(choices: Choices, defaults: Mapping[str, str], folder: Path) -> dict[str, Any]:
    places = {name: defaults[name] for name in ("output", "linkage")}
    plan = release_plan(choices.model_copy(update=places), folder, folder / "attacks.json")
    return {
        "commands": [command.shell_line() for command in plan.commands],
        "files": {str(path): text for path, text in plan.files.items()},
    }


def _no_anonymity(work: Work) -> str:
    """Why a claim that holds is none."""
    written = work.result(work.release)
    return "" if written is None else CLAIMS[written["claim"]["type"]].no_anonymity


def _release_view(desk: Desk, work: Work, words: Words) -> dict[str, Any]:
    try:
        release = desk.release(work.choices)
    except (ShoalError, OSError) as error:
        return {
            "classes": [],
            "gone": error.cli_message if isinstance(error, MisuseError) else words("release.gone"),
        }
    return {
        "map": density_map(release, words("release.map_label"), desk.ground(work.choices)),
        "promise": release.claim.promise,
        "classes": classes_of(release),
        "planar": release.crs is None,
        "private": work.choices.private_report and Path(work.choices.private_report).exists(),
    }


def _done(work: Work) -> bool:
    verdict = work.result(work.release, 1)
    return verdict is not None and bool(verdict["holds"]) and work.result(work.release, 2) is not None


def _summary(work: Work, words: Words) -> list[str]:
    written, verdict = work.result(work.release), work.result(work.release, 1)
    if written is None:
        return []
    lines = [words("release.line", records=words.number(f"{written['n_records']:,}"))]
    if verdict is not None:
        holds = "holds_bare" if _no_anonymity(work) else "holds"
        lines.append(words(f"release.{holds}" if verdict["holds"] else "release.holds_not"))
    return lines


RELEASE: Final = Step(
    name="release",
    jobs=("release", "shown_class", "advice"),
    take=_take,
    content=_content,
    done=_done,
    summary=_summary,
)
