-- asked: what sessions have asked, the state that answers it, and which answers are withheld (a byte for each
-- question). answers: the number of all questions, and of those not answered. withdrawal: which releases were
-- taken back or outlived, and from which day on they no longer count, record: while it is stored. leaf: what
-- is under the roots of closed days (0: releases, 1: identifiers that were taken back)
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
CREATE INDEX withdrawal_key ON withdrawal (claim_key);
CREATE TABLE closed_day (
    day {NUMBER} PRIMARY KEY, n {NUMBER} NOT NULL, added {BYTES} NOT NULL, gone {BYTES} NOT NULL,
    state {BYTES} NOT NULL);
CREATE TABLE leaf (
    day {NUMBER} NOT NULL, kind {NUMBER} NOT NULL, digest {BYTES} NOT NULL, PRIMARY KEY (day, kind, digest));
