"""The command that looks at a collection from outside, as its participants will."""

import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import PATH, needs_extra, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import print_result
from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal_collect.device.http_client import RemoteServer
    from shoal_collect.roles.terms import Terms

Findings = Generator[tuple[str, str], None, Any]  # "well", "note" or "mend", and what it is about


@click.command(
    cls=Command,
    examples=(
        (
            "shoal collect doctor --server https://HERE --authority https://THERE:8441",
            "before you invite anybody, from another machine than the servers'",
        ),
    ),
    epilog="It asks what anybody may ask, and joins nothing.",
)
@click.option("--server", "server_url", required=True, metavar="URL", help="The collector.")
@click.option("--authority", "authority_url", required=True, metavar="URL", help="The authority.")
@click.option("--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust instead of the system's.")
@output_options
def doctor(**options: Any) -> int:
    """Check a collection from outside: what would keep people from taking part."""
    with needs_extra("shoal-collect"):
        from shoal_collect.device.http_client import RemoteServer

    server, authority = (
        RemoteServer(options[name], options["ca"]) for name in ("server_url", "authority_url")
    )
    with closing(server), closing(authority):
        findings = list(_findings(server, authority, options["ca"]))
    well = all(level != "mend" for level, _ in findings)
    document = {"well": well, "findings": [{"level": level, "text": text} for level, text in findings]}
    print_result(options["as_json"], document, [f"{level}  {text}" for level, text in findings])
    return 0 if well else 1


def _level(fine: object, otherwise: str = "mend") -> str:
    return "well" if fine else otherwise


def _findings(server: "RemoteServer", authority: "RemoteServer", ca: Path | None) -> Findings:
    from shoal_collect.device.http_client import RemoteServer
    from shoal_collect.roles.consent import describe_collector
    from shoal_collect.roles.terms import read_terms

    about = yield from _ask("collector", server)
    office = yield from _ask("authority", authority)
    if about is None or office is None:
        return
    terms = read_terms(about["terms"])
    for each, facts in ((server, about), (authority, office)):
        yield _level(not each.readable), f"{each.url}: nobody on the way can read it (TLS, or this machine)"
        ahead_s = time.time() - float(facts["time_s"])
        yield _level(abs(ahead_s) <= 60), f"{each.url}: its clock is {-ahead_s:+.0f} s from the one here"
        yield _level(each.status("/metrics") == 404), f"{each.url}/metrics is hidden from here"
    yield (
        _level(about["server_key"] in office["collectors"]),
        "the authority has the collector's key (--collector-key), so people can claim what they share",
    )
    yield from _look_at_terms(terms, ca)
    silent = [line for line in describe_collector(terms) if line.startswith("This collector does not say")]
    yield _level(not silent), silent[0] if silent else "it says who is responsible, and for what (terms.toml)"
    for place, witness in enumerate(terms.witnesses, 1):
        with closing(RemoteServer(witness.url, ca)) as server_there:
            statement = yield from _ask(f"witness {place}", server_there)
        fits = statement is not None and statement["server_key"] == witness.key
        yield _level(fits), f"witness {place} has the key that the terms say"


def _ask(name: str, server: "RemoteServer", path: str = "/v1/about") -> Findings:
    try:
        facts, status = server.about(path=path), server.status("/health")
    except ShoalError as error:
        yield "mend", f"the {name}: {error.cli_message}"
        return None
    yield _level(status == 200), f"the {name} at {server.url} answers and can store (/health: {status})"
    return facts


def _look_at_terms(terms: "Terms", ca: Path | None) -> Findings:
    from shoal_collect.device.http_client import RemoteServer

    registrar = terms.registrar
    if registrar is None:
        yield "mend", "anybody can join, under many names: name a registrar to the collector (--registrar)"
    else:
        with closing(RemoteServer(registrar.url, ca)) as office:
            facts = yield from _ask("registrar", office, "/v1/registrar")
        if facts is not None:
            yield _level(registrar.key == facts["registrar_key"]), "--registrar has the registrar's key"
            yield (
                _level(registrar.days == facts["token_days"]),
                f"--token-days is {registrar.days} at the collector, {facts['token_days']} at the registrar",
            )
    counted = "somebody else checks the counts (--witness)"
    yield (
        _level(terms.witnesses, "note"),
        counted if terms.witnesses else f"a collector that lies is believed, until {counted}",
    )
    yield (
        _level(terms.enough >= 3 * terms.group_size, "note"),
        f"groups of {terms.group_size} are drawn from at least {terms.enough} people (least_roster); the "
        "more, the rarer accomplices are everybody else in one",
    )
