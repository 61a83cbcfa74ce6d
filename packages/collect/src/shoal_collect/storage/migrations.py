"""The databases step by step; a published step never changes."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Step:
    """Statements in ``both`` differ only in the names of types."""

    both: str
    sqlite: str = ""
    postgres: str = ""

    def statements(self, *, postgres: bool) -> list[str]:
        """The statements in order."""
        types = {
            "ID": "INTEGER PRIMARY KEY",
            "NEVER_AGAIN": "INTEGER PRIMARY KEY AUTOINCREMENT",
            "BYTES": "BLOB",
            "NUMBER": "INTEGER",
        }
        if postgres:
            serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            types = {"ID": serial, "NEVER_AGAIN": serial, "BYTES": "BYTEA", "NUMBER": "BIGINT"}
        text = self.both.format(**types) + (self.postgres if postgres else self.sqlite)
        return [statement for statement in map(str.strip, text.split(";")) if statement]


_RELEASES: Final = Step(
    both="""
CREATE TABLE IF NOT EXISTS contributor (who {ID}, tag {BYTES} NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS record (
    id {ID}, name {BYTES} NOT NULL UNIQUE, who {NUMBER} NOT NULL, day {NUMBER} NOT NULL, expires {NUMBER},
    claim_key {BYTES} NOT NULL, points {BYTES} NOT NULL, identifier TEXT NOT NULL UNIQUE);
""",
    sqlite="""
CREATE VIRTUAL TABLE IF NOT EXISTS place USING rtree(
    id, t_min, t_max, x_min, x_max, y_min, y_max, z_min, z_max,
    +record, +position, +who, +day, +start, +gap, +lat, +lon, +radius);
""",
    # time first, then the point of the sphere in meters as a box of x and y and a range of z: no extension is
    # needed, and poles and the antimeridian are places like any other
    postgres="""
CREATE TABLE place (
    span INT8RANGE NOT NULL, xy BOX NOT NULL, z INT8RANGE NOT NULL,
    record BIGINT NOT NULL, position BIGINT NOT NULL, who BIGINT NOT NULL, day BIGINT NOT NULL,
    start BIGINT NOT NULL, gap BIGINT NOT NULL,
    lat BIGINT NOT NULL, lon BIGINT NOT NULL, radius BIGINT NOT NULL);
CREATE INDEX place_when_where ON place USING gist (span, xy, z);
CREATE INDEX place_record ON place (record);
""",
)

_ROUNDS: Final = Step(
    both="""
CREATE TABLE round (
    id {NEVER_AGAIN}, name {BYTES} NOT NULL UNIQUE, terms TEXT NOT NULL, phase TEXT NOT NULL,
    restarts {NUMBER} NOT NULL, deadline_s DOUBLE PRECISION NOT NULL);
CREATE TABLE ticket (
    round {NUMBER} NOT NULL, identity {BYTES} NOT NULL, signed {BYTES} NOT NULL, dropped {NUMBER} NOT NULL,
    committed {BYTES}, revealed {BYTES}, session {BYTES}, place {NUMBER}, PRIMARY KEY (round, identity));
CREATE INDEX ticket_session ON ticket (session, place);
CREATE INDEX ticket_identity ON ticket (identity);
CREATE TABLE letter (
    id {NEVER_AGAIN}, session {BYTES} NOT NULL, sender {NUMBER} NOT NULL, receiver {NUMBER} NOT NULL,
    number {NUMBER} NOT NULL, owner {BYTES} NOT NULL, body {BYTES}, digest {BYTES} NOT NULL,
    at_s DOUBLE PRECISION NOT NULL,
    UNIQUE (session, sender, receiver, number));
CREATE INDEX letter_owner ON letter (owner, id);
CREATE INDEX letter_age ON letter (at_s);
CREATE TABLE quota (
    identity {BYTES} NOT NULL, day {NUMBER} NOT NULL, batch {BYTES} NOT NULL, n {NUMBER} NOT NULL,
    PRIMARY KEY (identity, day, batch));
CREATE TABLE voucher (
    session {BYTES} NOT NULL, identity {BYTES} NOT NULL, digest {BYTES} NOT NULL,
    PRIMARY KEY (session, identity));
""",
)

# in SQLite only a copy of the table gets rid of a NOT NULL
_OPTIONAL_KEYS: Final = Step(
    both="",
    sqlite="""
CREATE TABLE record_of_all (
    id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, who INTEGER NOT NULL, day INTEGER NOT NULL,
    expires INTEGER, claim_key BLOB, points BLOB NOT NULL, identifier TEXT UNIQUE);
INSERT INTO record_of_all SELECT id, name, who, day, expires, claim_key, points, identifier FROM record;
DROP TABLE record;
ALTER TABLE record_of_all RENAME TO record;
""",
    postgres="""
ALTER TABLE record ALTER COLUMN claim_key DROP NOT NULL;
ALTER TABLE record ALTER COLUMN identifier DROP NOT NULL;
""",
)

_RECORDS_OF_NOBODY: Final = Step(
    both="""
UPDATE record SET claim_key = NULL, identifier = NULL WHERE who = 0;
CREATE INDEX record_expires ON record (expires) WHERE expires IS NOT NULL;
""",
)

_COLLECTOR_KEY: Final = Step("CREATE TABLE collector_key (key {BYTES} PRIMARY KEY);")

# what sessions have asked, the state that answers it, which answers are withheld (a byte for each question),
# and how many questions about an area were answered in a period
_ASKED: Final = Step(
    both="""
CREATE TABLE asked (
    session {BYTES} NOT NULL, batch {BYTES} NOT NULL, identity {BYTES} NOT NULL, day {NUMBER} NOT NULL,
    withheld {BYTES}, PRIMARY KEY (session, batch));
CREATE TABLE area (
    name TEXT NOT NULL, period {NUMBER} NOT NULL, n {NUMBER} NOT NULL, PRIMARY KEY (name, period));
""",
)

_TOKENS: Final = Step(
    both="""
ALTER TABLE ticket ADD COLUMN token {BYTES};
CREATE TABLE spent (identity {BYTES} PRIMARY KEY, round {NUMBER} NOT NULL, period {NUMBER} NOT NULL);
CREATE INDEX spent_round ON spent (round);
CREATE TABLE token_key (period {NUMBER} PRIMARY KEY, statement {BYTES} NOT NULL);
"""
)

_SCOPES: Final = Step("CREATE TABLE scope (id {ID}, name {BYTES} NOT NULL UNIQUE);")

# which releases were taken back or outlived, and from which day on they no longer count; record: while it is
# stored
_WITHDRAWALS: Final = Step(
    both="""
CREATE TABLE withdrawal (
    identifier TEXT PRIMARY KEY, claim_key {BYTES} NOT NULL, record {NUMBER}, day {NUMBER} NOT NULL,
    due {NUMBER} NOT NULL);
CREATE INDEX withdrawal_due ON withdrawal (due);
""",
)

# what /health writes to
_HEARTBEAT: Final = """
CREATE TABLE heartbeat (n {NUMBER} NOT NULL);
INSERT INTO heartbeat VALUES (0);
"""

# when the clock was last looked at, and since when it has gone evenly
_CLOCK: Final = Step(
    both="CREATE TABLE clock (seen_s DOUBLE PRECISION NOT NULL, even_since_s DOUBLE PRECISION NOT NULL);"
    + _HEARTBEAT,
)

# closed days: how many releases, the roots, the state after the day; and what is under the roots (0:
# releases, 1: identifiers that were taken back)
_CLOSED_DAYS: Final = Step(
    both="""
CREATE TABLE closed_day (
    day {NUMBER} PRIMARY KEY, n {NUMBER} NOT NULL, added {BYTES} NOT NULL, gone {BYTES} NOT NULL,
    state {BYTES} NOT NULL);
CREATE TABLE leaf (
    day {NUMBER} NOT NULL, kind {NUMBER} NOT NULL, digest {BYTES} NOT NULL, PRIMARY KEY (day, kind, digest));
CREATE INDEX record_day ON record (day);
""",
)

# which releases prove their contributor
_PROOFS: Final = Step("ALTER TABLE record ADD COLUMN proof {BYTES}")

_CLAIMS: Final = Step(
    both="""
CREATE TABLE claim (identifier TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE INDEX claim_owner ON claim (owner);
""",
)

_REGISTER: Final = Step(
    both="""
CREATE TABLE person (account {BYTES} PRIMARY KEY);
CREATE TABLE invitation (digest {BYTES} PRIMARY KEY, account {BYTES});
CREATE TABLE issued (
    purpose {BYTES} NOT NULL, account {BYTES} NOT NULL, digest {BYTES} NOT NULL, over_day {NUMBER} NOT NULL,
    PRIMARY KEY (purpose, account));
"""
)

_LOGINS: Final = Step(
    both="""
CREATE TABLE login (
    state {BYTES} PRIMARY KEY, account {BYTES} NOT NULL, until_s DOUBLE PRECISION NOT NULL, person {BYTES},
    used {NUMBER} NOT NULL, tries {NUMBER} NOT NULL);
CREATE TABLE logged_in (person {BYTES} PRIMARY KEY, account {BYTES} NOT NULL);
"""
)

# which registrar's key signed a person's tokens and which of them are cleared, which keys a proof of blame
# stands against, which have a clearance
_EXCLUSION: Final = Step(
    both="""
ALTER TABLE issued ADD COLUMN registrar {BYTES};
ALTER TABLE issued ADD COLUMN cleared {NUMBER};
CREATE TABLE blamed (identity {BYTES} PRIMARY KEY, over_day {NUMBER} NOT NULL);
CREATE TABLE clearance (identity {BYTES} PRIMARY KEY, digest {BYTES} NOT NULL, over_day {NUMBER} NOT NULL);
"""
)

_NO_EXCLUSION: Final = Step("DROP TABLE blamed; DROP TABLE clearance")
# a registrar may run inside the authority
AUTHORITY: Final = (_CLAIMS, _REGISTER, _LOGINS, _EXCLUSION, Step(_HEARTBEAT), _NO_EXCLUSION)
MIGRATIONS: Final = (
    _RELEASES,
    _ROUNDS,
    _OPTIONAL_KEYS,
    _RECORDS_OF_NOBODY,
    _COLLECTOR_KEY,
    _ASKED,
    _TOKENS,
    _SCOPES,
    _WITHDRAWALS,
    _CLOCK,
    _CLOSED_DAYS,
    _PROOFS,
)
