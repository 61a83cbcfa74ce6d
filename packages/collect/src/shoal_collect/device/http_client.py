"""The servers as a device sees them: trusted on first contact, signed requests, checked replies, patience."""

import json
import math
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx

from shoal.errors import InputError, MisuseError
from shoal.units import counted, show_s
from shoal_collect.crypto.envelope import require_point
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.disk import DeviceState, Sent, StateFolder
from shoal_collect.faults import PeerError, UnavailableError, UntrustedError
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles import wire
from shoal_collect.roles.admission import areas_of
from shoal_collect.roles.authority import MAX_USER_BYTES
from shoal_collect.roles.consent import describe_roster
from shoal_collect.roles.participant_round import Device, ParticipantRound
from shoal_collect.roles.terms import Terms, read_terms
from shoal_collect.roles.wire import DAY_S, Call, Reply

_Answer = TypeVar("_Answer")
_TIMEOUT_S: Final = 60.0
_HELD_S: Final = 30.0  # so long a server may let a device wait for news; proxies give up after 60 s
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
# refusals that pass, as a server that is down does: from a proxy or anybody else on the way, or because this
# machine or the server was stopped in the middle of a request, or because somebody changed it on the way
_PASSING: Final = ("unavailable", "clock-skew", "too-slow", "damaged")


class Patience:
    """Waits up to ``patience_s``, longer each time; tells ``say`` once."""

    def __init__(self, patience_s: float, say: Callable[[str], None]) -> None:
        self._patience_s, self._say = patience_s, say
        self.reset()

    def reset(self) -> None:
        """The server has answered."""
        self._until_s, self._pause_s = math.inf, _FIRST_PAUSE_S

    def wait(self, trouble: str) -> bool:
        """Wait; whether there is time to try again."""
        now_s, first = time.monotonic(), self._until_s == math.inf
        if first:
            self._until_s = now_s + self._patience_s
        if now_s + self._pause_s > self._until_s:
            return False
        if first:
            self._say(f"{trouble}; trying again for {show_s(self._patience_s)}")
        time.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True

    def until(self, ask: Callable[[], _Answer], trouble: str, remedy: str) -> _Answer:
        """The answer of a server, waiting while it is away; then InputError, at once if it is untrusted."""
        while True:
            try:
                return ask()
            except UnavailableError as error:
                if isinstance(error, UntrustedError) or not self.wait(trouble):
                    raise InputError(f"{error.cli_message}; {remedy}") from error


class RemoteServer:
    """A collector, witness or authority at an address like https://collect.example.org.

    ``ca``: certificates (PEM) to trust instead of the system's. ``key``: of a witness or registrar, which
    checks its replies.
    """

    def __init__(self, url: str, ca: Path | None = None, key: bytes | None = None) -> None:
        try:
            parts = urlsplit(url)
            self._root = httpx.URL(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
            sound = url.isprintable() and parts.port != 0 and not (parts.path.strip("/") or parts.query)
        except (ValueError, httpx.InvalidURL):
            sound = False
        if not sound or parts.scheme not in ("http", "https") or not parts.hostname:
            raise MisuseError(
                f"{url!r} is not an address of a server; write it like https://collect.example.org or "
                "http://127.0.0.1:8000"
            )
        self.url, self._key, self._tls = url, key, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if parts.scheme == "https":
            try:
                self._tls = ssl.create_default_context(cafile=ca)
            except OSError as error:
                raise InputError(
                    f"the certificates in {ca} cannot be read; give a file in PEM format"
                ) from error
        self._client = _open_client(self._tls)

    @property
    def readable(self) -> bool:
        """Whether traffic can be read on the way."""
        return self._root.scheme == "http" and self._root.host not in ("127.0.0.1", "::1", "localhost")

    def about(
        self, patience_s: float = 0.0, say: Callable[[str], None] = lambda _: None, path: str = "/v1/about"
    ) -> Any:
        """The server's statement; its key is not yet verified. ``path``: "/v1/registrar" of a registrar."""
        reply, signed = Patience(patience_s, say).until(
            lambda: self._exchange("GET", path, b"", {}),
            f"{self.url} does not answer yet",
            "check the address, and that the server runs",
        )
        if reply.status != 200:
            raise InputError(
                f"{self.url} is not a server of shoal (status {reply.status}); check the address"
            )
        try:
            facts = wire.read_json(reply.body)
            key = facts.get("server_key") or facts.get("signing_key") or facts.get("registrar_key")
            head = _head("GET", path, b"", {})
            wire.require_reply_signature(bytes.fromhex(key), head, reply.body, signed)
        except (PeerError, AttributeError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.url} is not a server of shoal, or somebody answers in its place; check the address"
            ) from error
        return facts

    def status(self, path: str) -> int:
        """Of an address that anybody may ask; 0 without an answer."""
        try:
            return self._exchange("GET", path, b"", {})[0].status
        except (UnavailableError, PeerError):
            return 0

    def send(self, call: Call, device: Device, now_s: float, signing_seed: bytes | None = None) -> Reply:
        """Try once to send a request; an unsigned refusal means only that the server is away.

        ``signing_seed``: by default the device's own. PeerError if another party answers.
        """
        headers = {}
        key = device.authority_signing_key
        if call.to != "authority":
            key, seed = self._key or device.server_key, signing_seed or device.signing_seed
            headers["Authorization"] = wire.authorization(
                seed, verify_key(seed), key, call.method, call.target, call.body, now_s
            )
        if call.body:
            headers["Shoal-Digest"] = wire.body_digest(call.body).hex()
        reply, signed = self._exchange(call.method, call.target, call.body, headers)
        try:
            head = _head(call.method, call.target, call.body, headers)
            wire.require_reply_signature(key, head, reply.body, signed)
        except PeerError:
            if reply.refusal is None:
                raise
            return Reply(reply.status, b"")
        return reply

    def _exchange(
        self, method: str, target: str, body: bytes, headers: dict[str, str]
    ) -> tuple[Reply, str | None]:
        content = bytearray()
        try:
            with self._client.stream(
                method, self._root.join(target), content=body or None, headers=headers
            ) as response:
                for part in response.iter_raw():
                    content += part
                    if len(content) > wire.BATCH_BYTES:
                        raise PeerError("bad-length", f"a reply of more than {wire.BATCH_BYTES} bytes")
        except httpx.TransportError as error:
            if isinstance(cause := _first_cause(error), ssl.SSLCertVerificationError):
                raise UntrustedError(
                    f"the certificate of {self.url} is not trusted ({cause.verify_message}); if you know it, "
                    "name the certificates to trust with --ca"
                ) from error
            raise UnavailableError(f"{self.url} does not answer ({type(cause).__name__})") from error
        return Reply(response.status_code, bytes(content)), response.headers.get("Shoal-Signature")

    def close(self) -> None:
        """All connections; the next request opens another."""
        client, self._client = self._client, _open_client(self._tls)
        client.close()


def _open_client(tls: ssl.SSLContext) -> httpx.Client:
    """No proxy of the machine, and no head that tells devices apart."""
    client = httpx.Client(verify=tls, timeout=_TIMEOUT_S, trust_env=False)
    client.headers.clear()
    return client


def _first_cause(error: BaseException) -> BaseException:
    """The libraries wrap what the system says."""
    before = error.__cause__ or error.__context__
    return error if before is None else _first_cause(before)


def make_asker(server: RemoteServer, key: bytes, signing_seed: bytes) -> Callable[[str], Any]:
    """A function that requests an address and parses its JSON, as a witness does.

    UnavailableError when the server is down or another party answers, PeerError for a refusal.
    """
    itself = Device("", signing_seed, bytes(32), key, bytes(32), bytes(32))

    def ask(target: str) -> Any:
        try:
            reply = server.send(Call("GET", target), itself, time.time())
        except PeerError as error:
            raise UnavailableError(f"{server.url} does not answer as the collector") from error
        if (passing := _passing_in_words(server.url, reply)) is not None:
            raise UnavailableError(passing)
        if reply.refusal is not None:
            raise PeerError("not-entitled", f"the collector does not say: {reply.refusal[1]}")
        return wire.read_json(reply.body)

    return ask


def run_round(
    own_round: ParticipantRound,
    servers: dict[str, RemoteServer],
    keep: Callable[[], None],
    say: Callable[[str], None],
    *,
    poll_s: float,
    patience_s: float,
) -> None:
    """Go on until the round has ended, with servers by the names in ``Call.to``.

    ``keep`` saves the state before each request that follows a change. InputError if a server stays away
    longer than ``patience_s``, or another party answers; the saved state allows to go on later.
    """
    changed, phase, patience = True, "", Patience(patience_s, say)
    held_s = min(_HELD_S, max(1.0, own_round.terms.phase_limit_s / 4))
    seen: tuple[str, bytes] = "", b""
    joined = ""
    while own_round.ending is None:
        if changed:
            keep()
        if own_round.phase != phase:
            if phase == "lottery" and own_round.group is not None:
                say(describe_roster(own_round.group))
            phase = own_round.phase
            say(_WORDS[phase])
        call = own_round.next_call()
        now_s = time.time()
        waits = call.poll and call.method == "GET" and "/" in call.target.removeprefix("/v1/rounds")
        asked = _waiting(call, held_s, seen[1] if seen[0] == call.target else b"") if waits else call
        try:
            reply = servers[call.to].send(asked, own_round.device, now_s, own_round.entry.signing_seed)
            trouble = _passing_in_words(servers[call.to].url, reply)
        except UnavailableError as error:
            trouble = error.cli_message
        except PeerError as error:
            trouble = f"{servers[call.to].url} is not who answers there ({error})"
        if trouble is not None:
            if not patience.wait(trouble):
                stored = "what you share is stored, but not yet claimed; " if phase == "claiming" else ""
                raise InputError(f"{trouble}; {stored}run the same command again later: it goes on from here")
            changed = False
            continue
        patience.reset()
        changed = own_round.replied(call, reply, time.time())
        if waits and phase == "lottery" and (news := _joined_in_words(reply)) not in ("", joined):
            say(joined := news)
        seen = call.target, reply.body
        if call.poll and not changed and own_round.ending is None:
            # a server that holds requests has waited for us
            time.sleep(max(0.0, poll_s - (time.time() - now_s)))
    keep()


def _joined_in_words(reply: Reply) -> str:
    try:
        document = json.loads(reply.body)
        if document["phase"] != "joining":
            return ""
        n, by = int(document["members"]), time.strftime("%H:%M", time.gmtime(float(document["deadline_s"])))
    except (ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError):
        return ""
    so_far = counted(n, "person has", "people have")
    return f"{so_far} joined; the lottery begins by {by} UTC with enough of them"


def _passing_in_words(url: str, reply: Reply) -> str | None:
    """None unless the same request may succeed later."""
    if reply.refusal is None or (reply.status < 500 and reply.refusal[0] not in _PASSING):
        return None
    if not reply.body:
        return f"{url} does not answer (status {reply.status})"
    return f"{url} cannot help now ({reply.refusal[1]})"


def _head(method: str, target: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    fields = headers.get("Authorization", ""), str(len(body)), headers.get("Shoal-Digest", "")
    return wire.head_digest(method, target, *fields)


def _waiting(call: Call, held_s: float, seen: bytes) -> Call:
    joint = "&" if "?" in call.target else "?"
    return replace(call, target=f"{call.target}{joint}wait={held_s:g}&seen={wire.answer_digest(seen)}")


_WORDS: Final = {
    "lottery": "waiting for the round, and for the lottery that draws the groups",
    "questions": "mixing the group's questions",
    "asking": "asking how many others share them",
    "releases": "mixing what the group releases",
    "storing": "having it stored",
    "claiming": "claiming it at the authority",
    "over": "done",
}


@dataclass
class Connection:
    """Both servers, the collector's statements, and the device's state.

    ``day``: since 1970, by the device's own clock; the collector's would choose her circles. ``elsewhere``:
    her releases from other states.
    """

    state: DeviceState
    servers: dict[str, RemoteServer]
    terms: Terms
    places: PublicPlaces
    day: int
    ca: Path | None
    elsewhere: Sent = ()

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas of the collection."""
        return areas_of(self.places, self.terms.scoping)


def connect(
    folder: StateFolder,
    server_url: str,
    authority_url: str,
    ca: Path | None,
    user: str,
    draw_bytes: Callable[[int], bytes],
    patience_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
) -> Connection:
    """Ask both servers for their identities; their keys are trusted on first contact.

    InputError if a server does not answer or shows another key than before, or the clocks differ too much.
    MisuseError if the folder belongs to another user name, or the name is invalid.
    """
    _require_name(user)
    servers = {"collector": RemoteServer(server_url, ca), "authority": RemoteServer(authority_url, ca)}
    facts, authority_facts = (server.about(patience_s, say) for server in servers.values())
    for server in servers.values():
        server.close()  # until she has read what is asked of her
    try:
        key, now_s = bytes.fromhex(facts["server_key"]), time.time()
        ahead_s = now_s - float(facts["time_s"])
        keys = bytes.fromhex(authority_facts["authority_key"]), bytes.fromhex(authority_facts["signing_key"])
        require_point(keys[0])  # else she would hear of it when all is released
        terms, places = read_terms(facts["terms"]), PublicPlaces.model_validate(facts["places"])
    except (KeyError, TypeError, ValueError, PeerError) as error:
        raise InputError(
            "a server does not describe itself; check the addresses of --server and --authority"
        ) from error
    if not abs(ahead_s) <= wire.SKEW_S:
        raise InputError(
            f"this device's clock is {ahead_s:+.0f} s from the collector's; set it, or no request is taken"
        )
    state = folder.load()
    if state is None:
        state = DeviceState(Device(user, draw_bytes(32), draw_bytes(32), key, *keys))
        folder.save(state)
    _require_same_keys(state.device, key, *keys)
    if state.device.user != user:
        raise MisuseError("this folder belongs to another user name; give the same one (--user)")
    if state.own_round is None:
        _require_claimable(state.device, authority_url, authority_facts)
        _keep_named(folder, state, terms)
    return Connection(state, servers, terms, places, int(now_s // DAY_S), ca, _past_of(folder, state.device))


def _require_same_keys(device: Device, server: bytes, sealing: bytes, signing: bytes) -> None:
    known = device.server_key, device.authority_key, device.authority_signing_key
    if known != (server, sealing, signing):
        raise InputError("a server shows another key than when you first took part; ask its operator")


def _require_name(user: str) -> None:
    """The authority would refuse such a name only after everything is released."""
    try:
        size = len(user.encode())
    except UnicodeEncodeError:  # bytes of the command line that are no text
        size = 0
    if not 0 < size <= MAX_USER_BYTES:
        raise MisuseError(f"a user name is text of 1 to {MAX_USER_BYTES} bytes; give another one (--user)")


def _require_claimable(device: Device, authority_url: str, authority_facts: Any) -> None:
    """An authority that does not know the collector could not let her claim her releases."""
    collectors = authority_facts.get("collectors")
    if not isinstance(collectors, list) or device.server_key.hex() not in collectors:
        raise InputError(
            f"the authority at {authority_url} does not know this collector, so nobody could claim there "
            "what is shared; check the addresses of --server and --authority, or ask the authority's operator"
        )


def _past_of(folder: StateFolder, device: Device) -> Sent:
    if folder.past is None:
        return ()
    sent_here, others = folder.past.of(device)
    device.sent.extend(release for release in sent_here if release not in device.sent)
    return others


def _keep_named(folder: StateFolder, state: DeviceState, terms: Terms) -> None:
    """A collector that wants to lie would leave out a witness, or the registrar, and be everybody."""
    device, registrar = state.device, terms.registrar
    key = None if registrar is None else bytes.fromhex(registrar.key)
    if {witness.key for witness in device.witnesses} - {witness.key for witness in terms.witnesses}:
        raise InputError("the collector no longer names a witness that it named before; ask its operator")
    if device.registrar_key not in (None, key):
        raise InputError("the collector no longer names the registrar that it named before; ask its operator")
    if (device.witnesses, device.registrar_key) != (terms.witnesses, key):
        device.witnesses, device.registrar_key = terms.witnesses, key
        folder.save(state)
