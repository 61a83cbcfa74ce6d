"""``shoal collect`` with all of its commands."""

from shoal_collect.cli.authority import authority, key, registrar
from shoal_collect.cli.collect import collect
from shoal_collect.cli.collected import export, mine
from shoal_collect.cli.collector import server, witness
from shoal_collect.cli.doctor import doctor
from shoal_collect.cli.join import join, participant_app
from shoal_collect.cli.plan import plan

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
