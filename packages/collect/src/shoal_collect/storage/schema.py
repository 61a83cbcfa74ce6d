"""The tables of collector (or witness) and authority."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Schema:
    """Tables; ``both``: differ only in the names of types. A database of another ``number`` is refused."""

    number: int
    both: str
    sqlite: str = ""
    postgres: str = ""

    def statements(self, *, postgres: bool) -> list[str]:
        """Of new tables, in order."""
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


# what /health writes to
_HEARTBEAT: Final = """
CREATE TABLE heartbeat (n {NUMBER} NOT NULL);
INSERT INTO heartbeat VALUES (0);
"""

# asked: what sessions have asked, the state that answers it, and which answers are withheld (a byte for each
# question). answers: the number of all questions, and of those not answered. withdrawal: which releases were
# taken back or outlived, and from which day on they no longer count; record: while it is stored. clock: when
# it was last read, and since when it has gone evenly. leaf: what is under the roots of closed days (0:
# releases, 1: identifiers that were taken back)
# collectors count from 42 and authorities from 21, so that neither opens the database of the other
COLLECTOR: Final = Schema(
    number=42,
    both="""
CREATE TABLE collector_key (key {BYTES} PRIMARY KEY);
CREATE TABLE contributor (who {ID}, tag {BYTES} NOT NULL UNIQUE);
CREATE TABLE scope (id {ID}, name {BYTES} NOT NULL UNIQUE);
CREATE TABLE record (
    id {ID}, name {BYTES} NOT NULL UNIQUE, who {NUMBER} NOT NULL, day {NUMBER} NOT NULL,
    claim_key {BYTES} NOT NULL, points {BYTES} NOT NULL, identifier TEXT NOT NULL UNIQUE, proof {BYTES});
CREATE INDEX record_day ON record (day);
CREATE TABLE round (
    id {NEVER_AGAIN}, name {BYTES} NOT NULL UNIQUE, terms TEXT NOT NULL, phase TEXT NOT NULL,
    restarts {NUMBER} NOT NULL, deadline_s DOUBLE PRECISION NOT NULL);
CREATE TABLE ticket (
    round {NUMBER} NOT NULL, identity {BYTES} NOT NULL, signed {BYTES} NOT NULL, dropped {NUMBER} NOT NULL,
    committed {BYTES}, revealed {BYTES}, session {BYTES}, place {NUMBER}, token {BYTES},
    PRIMARY KEY (round, identity));
CREATE INDEX ticket_session ON ticket (session, place);
CREATE INDEX ticket_identity ON ticket (identity);
CREATE TABLE letter (
    id {NEVER_AGAIN}, session {BYTES} NOT NULL, sender {NUMBER} NOT NULL, receiver {NUMBER} NOT NULL,
    number {NUMBER} NOT NULL, owner {BYTES} NOT NULL, body {BYTES}, digest {BYTES} NOT NULL,
    at_s DOUBLE PRECISION NOT NULL, UNIQUE (session, sender, receiver, number));
CREATE INDEX letter_owner ON letter (owner, id);
CREATE INDEX letter_age ON letter (at_s);
CREATE TABLE voucher (
    session {BYTES} NOT NULL, identity {BYTES} NOT NULL, digest {BYTES} NOT NULL,
    PRIMARY KEY (session, identity));
CREATE TABLE asked (
    session {BYTES} NOT NULL, batch {BYTES} NOT NULL, identity {BYTES} NOT NULL, day {NUMBER} NOT NULL,
    withheld {BYTES}, PRIMARY KEY (session, batch));
CREATE TABLE answers (n {NUMBER} NOT NULL, withheld {NUMBER} NOT NULL);
INSERT INTO answers VALUES (0, 0);
CREATE TABLE spent (identity {BYTES} PRIMARY KEY, round {NUMBER} NOT NULL, period {NUMBER} NOT NULL);
CREATE INDEX spent_round ON spent (round);
CREATE TABLE token_key (period {NUMBER} PRIMARY KEY, statement {BYTES} NOT NULL);
CREATE TABLE withdrawal (
    identifier TEXT PRIMARY KEY, claim_key {BYTES} NOT NULL, record {NUMBER}, day {NUMBER} NOT NULL,
    due {NUMBER} NOT NULL);
CREATE INDEX withdrawal_due ON withdrawal (due);
CREATE TABLE clock (seen_s DOUBLE PRECISION NOT NULL, even_since_s DOUBLE PRECISION NOT NULL);
CREATE TABLE closed_day (
    day {NUMBER} PRIMARY KEY, n {NUMBER} NOT NULL, added {BYTES} NOT NULL, gone {BYTES} NOT NULL,
    state {BYTES} NOT NULL);
CREATE TABLE leaf (
    day {NUMBER} NOT NULL, kind {NUMBER} NOT NULL, digest {BYTES} NOT NULL, PRIMARY KEY (day, kind, digest));
"""
    + _HEARTBEAT,
    sqlite="""
CREATE VIRTUAL TABLE place USING rtree(
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

# a registrar may run inside the authority
AUTHORITY: Final = Schema(
    number=23,
    both="""
CREATE TABLE claim (identifier TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE INDEX claim_owner ON claim (owner);
CREATE TABLE person (account {BYTES} PRIMARY KEY);
CREATE TABLE invitation (digest {BYTES} PRIMARY KEY, account {BYTES});
CREATE TABLE issued (
    purpose {BYTES} NOT NULL, account {BYTES} NOT NULL, digest {BYTES} NOT NULL, over_day {NUMBER} NOT NULL,
    PRIMARY KEY (purpose, account));
"""
    + _HEARTBEAT,
)
