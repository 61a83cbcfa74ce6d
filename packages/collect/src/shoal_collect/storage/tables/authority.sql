-- a registrar may run inside the authority
CREATE TABLE claim (identifier TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE INDEX claim_owner ON claim (owner);
CREATE TABLE person (account {BYTES} PRIMARY KEY);
CREATE TABLE invitation (digest {BYTES} PRIMARY KEY, account {BYTES});
CREATE TABLE issued (
    purpose {BYTES} NOT NULL, account {BYTES} NOT NULL, digest {BYTES} NOT NULL, over_day {NUMBER} NOT NULL,
    PRIMARY KEY (purpose, account));
