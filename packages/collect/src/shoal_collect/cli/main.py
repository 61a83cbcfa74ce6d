"""``shoal collect`` with all of its commands."""

from shoal_collect.cli.app import participant_app
from shoal_collect.cli.authority import authority
from shoal_collect.cli.collect import collect
from shoal_collect.cli.collected import export, mine
from shoal_collect.cli.collector import server
from shoal_collect.cli.doctor import doctor
from shoal_collect.cli.join import join
from shoal_collect.cli.keys import key
from shoal_collect.cli.plan import plan
from shoal_collect.cli.registrar import registrar
from shoal_collect.cli.witness import witness

__all__ = ["collect"]

for _command in (
    server,
    witness,
    authority,
    registrar,
    key,
    join,
    participant_app,
    export,
    mine,
    plan,
    doctor,
):
    collect.add_command(_command)
