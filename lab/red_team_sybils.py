"""A collector that wants to be everybody else in a victim's group: invented people, and real accomplices.

Usage: python lab/red_team_sybils.py [--rounds 300]

The victim's own device decides (``LotteryPart``): she is shown rosters, commitments and secrets, and either
enters a group or refuses. The collector plays everybody else whose secrets it has, and draws secrets for them
after it has seen nothing of hers. It wins a round when nobody else in her group is honest.

- "no registrar": 15 invented people around her, as before there were tokens.
- "registrar, 15 invented": the same without tokens, with copies of one, and with tokens that it made up.
- "3 accomplices and nobody else": it leaves out all others, and has three accomplices with their own tokens.
- "at least 16": the terms ask for 16 people on a roster; three, five or ten of them are accomplices.
- "two rosters": it shows her another roster than the others, to choose whom she meets.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from group_sizes import isolation_probability
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import TOKEN_BYTES, Entry, TokenRequest, purpose_of
from shoal_collect.roles.lottery import LotteryPart, NoGroup, commitment, roster_digest, sign_lot
from shoal_collect.roles.terms import RegistrarTerms, Terms
from shoal_collect.server.registrar import RegisterBook, Registrar, code_digest, write_code
from shoal_collect.storage.database import AUTHORITY, Database

NOW_S = 1_800_000_000.0
COLLECTOR = bytes(32)
GROUP = 4


class Result(NamedTuple):
    """How often she was isolated, refused, or met somebody honest; and the bound for fair draws."""

    isolated: float
    refused: float
    bound: float


class Cast:
    """A registrar and people with tokens; the first is the victim."""

    def __init__(self, n: int) -> None:
        chance = Chance(b"sybils".ljust(32, b"\0"))
        book = RegisterBook(Database(None, AUTHORITY))
        registrar = Registrar(book, chance.seed(), frozenset({COLLECTOR}), 1)
        period = int(NOW_S // 86_400)
        self.registrar = RegistrarTerms(url="http://a", key=registrar.public_key.hex(), period=period)
        purpose = purpose_of(COLLECTOR, self.registrar)
        said = registrar.key_of(purpose, b"", NOW_S)
        self.people: list[Entry] = []
        for _ in range(n):
            request = TokenRequest(chance.seed(), COLLECTOR, self.registrar)
            account, code = verify_key(request.account_seed), write_code(chance.take(16))
            book.invite([code_digest(code)])
            registrar.admit(account, code)
            blinded = request.ask_for_token(said).body
            signed = registrar.sign(purpose, account, blinded, NOW_S)
            self.people.append(request.entry(said, signed))

    def invented(self, n: int, tokens: Sequence[bytes]) -> list[Entry]:
        """People who do not exist."""
        return [Entry(b"puppet %d" % i + bytes(32 - len(b"puppet %d" % i)), tokens[i]) for i in range(n)]


def draw(terms: Terms, roster: list[Entry], accomplices: list[Entry], seed: int, shown: list[Entry]) -> str:
    """One round of the victim, the first of the roster; ``shown`` is the roster that others see.

    Returns "isolated", "refused" or "met".
    """
    chance = Chance(seed.to_bytes(32))
    name, victim = chance.seed(), roster[0]
    part = LotteryPart(victim, COLLECTOR, terms, Chance(chance.seed()))
    keys = {verify_key(one.signing_seed): one for one in roster}
    lots: dict[str, dict[bytes, bytes]] = {"commits": {}, "reveals": {}}

    def view(phase: str, members: list[Entry]) -> dict[str, object]:
        joined = terms.join_text(name)
        return {
            "round": name.hex(),
            "phase": phase,
            "terms": terms.model_dump(),
            "restarts": 0,
            "roster": {
                verify_key(one.signing_seed).hex(): (
                    signature(one.signing_seed, b"join", joined) + one.token
                ).hex()
                for one in members
            },
            **{part: {who.hex(): said.hex() for who, said in own.items()} for part, own in lots.items()},
            "token_key": victim.statement.hex(),
        }

    try:
        part.take_view(view("joining", []))
        (committed,) = part.take_view(view("committing", roster))
        lots["commits"][verify_key(victim.signing_seed)] = committed.body
        secrets = {who: chance.seed() for who in keys}
        digests = {
            True: roster_digest(name + b"\0", list(keys)),
            False: roster_digest(name + b"\0", [verify_key(one.signing_seed) for one in shown]),
        }
        for who, one in keys.items():
            if one is not victim:
                over = digests[one in accomplices]  # honest people sign the roster that they see
                lot = commitment(digests[True], who, secrets[who])
                lots["commits"][who] = sign_lot(one.signing_seed, b"commit", over, lot)
        (revealed,) = part.take_view(view("revealing", roster))
        lots["reveals"][verify_key(victim.signing_seed)] = revealed.body
        for who, one in keys.items():
            if one is not victim:
                over = digests[one in accomplices]
                lots["reveals"][who] = sign_lot(one.signing_seed, b"reveal", over, secrets[who])
        part.take_view(view("grouped", roster))
    except PeerError:
        return "refused"
    except NoGroup:
        return "met"
    if part.group is None:
        raise AssertionError("grouped")
    others = [keys[who] for who in part.group.identities if who != verify_key(victim.signing_seed)]
    return "isolated" if all(one in accomplices for one in others) else "met"


def attack(
    terms: Terms, roster: list[Entry], bad: list[Entry], rounds: int, shown: list[Entry] | None = None
) -> Result:
    """Many rounds of one attack."""
    ends = [draw(terms, roster, bad, seed, shown or roster) for seed in range(rounds)]
    share = {end: ends.count(end) / rounds for end in ("isolated", "refused")}
    bound = isolation_probability(len(roster), len(bad), terms.group_size, 1)
    return Result(share["isolated"], share["refused"], bound)


def attacks(rounds: int) -> dict[str, Result]:
    """Every attack, by name."""
    cast = Cast(16)
    people, token = cast.people, cast.people[1].token
    free = Terms(group_size=GROUP)
    admitted = Terms(group_size=GROUP, registrar=cast.registrar)
    large = Terms(group_size=GROUP, registrar=cast.registrar, least_roster=16)
    none, copies, made_up = (cast.invented(15, [one] * 15) for one in (b"", token, bytes(TOKEN_BYTES)))
    nameless = Entry(people[0].signing_seed)
    other = [people[0], *people[2:]]
    return {
        "no registrar, 15 invented": attack(free, [nameless, *none], none, rounds),
        "registrar, 15 invented without tokens": attack(admitted, [people[0], *none], none, rounds),
        "registrar, 15 invented with copies of a token": attack(
            admitted, [people[0], *copies], copies, rounds
        ),
        "registrar, 15 invented with tokens made up": attack(
            admitted, [people[0], *made_up], made_up, rounds
        ),
        "registrar, 3 accomplices and nobody else": attack(admitted, people[:4], people[1:4], rounds),
        "registrar, at least 16, 3 accomplices and nobody else": attack(
            large, people[:4], people[1:4], rounds
        ),
        **{
            f"registrar, at least 16, {n} accomplices": attack(large, people, people[1 : n + 1], rounds)
            for n in (3, 5, 10)
        },
        "two rosters": attack(large, people, people[1:4], rounds, shown=other),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    for name, found in attacks(parser.parse_args().rounds).items():
        shares = f"isolated {found.isolated:.1%}, refused {found.refused:.1%}"
        print(f"{name}: {shares}; fair draws {found.bound:.1%}")


if __name__ == "__main__":
    main()
