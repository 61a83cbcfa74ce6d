-- the people of a ledger, and what each table of them cost
CREATE TABLE IF NOT EXISTS people (
  only INTEGER PRIMARY KEY CHECK (only = 1), digest TEXT NOT NULL, unit TEXT NOT NULL,
  budget REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE IF NOT EXISTS tables (
  entry TEXT PRIMARY KEY, spent_at TEXT NOT NULL, kind TEXT NOT NULL, unit TEXT NOT NULL,
  rho REAL NOT NULL CHECK (rho > 0), epsilon REAL NOT NULL, delta REAL NOT NULL, sigma INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL, granularity INTEGER NOT NULL, counts_sha256 TEXT, unit_of_protection TEXT);
