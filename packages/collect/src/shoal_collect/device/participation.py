"""A round on a device, from consent to its end: what ``shoal collect join`` does after ``proposal``."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.admission import admitted, report
from shoal_collect.device.connection import Connection
from shoal_collect.device.disk import Kept, StateFolder
from shoal_collect.device.http_client import RemoteServer, run_round
from shoal_collect.device.proposal import Plan
from shoal_collect.roles.admission import Entry
from shoal_collect.roles.participant_round import Ending, ParticipantRound

BEFORE_RELEASE: Final = ("lottery", "questions", "asking")  # the phases in which somebody may leave


def begin(
    there: Connection,
    plan: Plan,
    draw_bytes: Callable[[int], bytes],
    invitation: str | None = None,
    tell: Callable[[str], None] | None = None,
    *,
    patience_s: float = 0.0,
) -> None:
    """Start a round, under a key that lives as long as it; get a token for it where the terms ask for one.

    Parameters
    ----------
    there
        The servers, and the device's state.
    plan
        What she consented to.
    draw_bytes
        Draws the secrets of the round.
    invitation
        The registrar's invitation, the first time.
    tell
        Told where to log in, where the registrar asks for that; then the login is waited for.
    patience_s
        How long the registrar may be away, in seconds.

    Raises
    ------
    InputError
        If the registrar does not answer, or does not admit her.
    LoginNeededError
        If she has to log in first, and nobody is told.
    """
    registrar = there.terms.registrar
    if registrar is None:
        entry = Entry(draw_bytes(32))
    else:
        server = RemoteServer(registrar.url, there.ca, bytes.fromhex(registrar.key))
        try:
            entry = admitted(server, there.kept.device, registrar, invitation, tell, patience_s=patience_s)
        finally:
            server.close()
    there.kept.own_round = ParticipantRound(
        there.kept.device,
        plan.member,
        plan.cylinders,
        there.terms,
        there.places.prior,
        Chance(draw_bytes(32)),
        entry,
    )


def finish(
    folder: StateFolder, there: Connection, say: Callable[[str], None], poll_s: float, patience_s: float
) -> tuple[Ending, Path]:
    """Go on until the round has ended, and write down what became of it; the ending, and the file."""
    own_round = there.kept.own_round
    if own_round is None:
        raise AssertionError("a round has begun")
    witnesses = {
        f"witness {i}": RemoteServer(one.url, there.ca, bytes.fromhex(one.key))
        for i, one in enumerate(own_round.terms.witnesses, 1)
    }
    run_round(
        own_round,
        {**there.servers, **witnesses},
        lambda: folder.keep(there.kept),
        say,
        poll_s=poll_s,
        patience_s=patience_s,
    )
    if own_round.ending is None:
        raise AssertionError("the round has ended")
    registrar = own_round.terms.registrar
    if registrar is not None and own_round.accusations:
        server = RemoteServer(registrar.url, there.ca, bytes.fromhex(registrar.key))
        taken = report(server, there.kept.device, own_round.accusations, own_round.entry.signing_seed)
        server.close()
        say(f"proofs of blame that the registrar took: {taken} of {len(own_round.accusations)}")
    return own_round.ending, end(folder, there.kept, own_round.ending)


def end(folder: StateFolder, kept: Kept, ending: Ending) -> Path:
    """Write down what became of the round under way, and be free for the next one; the file."""
    file = folder.note(kept, ending)
    kept.own_round, kept.rounds = None, kept.rounds + 1
    folder.keep(kept)
    return file


def leave(folder: StateFolder, kept: Kept) -> Ending:
    """Give up the round under way.

    Raises
    ------
    MisuseError
        If there is none, or it is too late: the group has begun to mix what it releases.
    """
    if kept.own_round is None or kept.own_round.phase not in BEFORE_RELEASE:
        raise MisuseError("it is too late to leave this round; have the release deleted when it is stored")
    ending = Ending("left", "you left the round; nothing of yours was released", k=kept.own_round.member.k)
    end(folder, kept, ending)
    return ending
