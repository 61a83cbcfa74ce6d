-- heartbeat: what /health writes to. clock: when it was last read, and since when it has gone evenly
CREATE TABLE heartbeat (n {NUMBER} NOT NULL);
INSERT INTO heartbeat VALUES (0);
CREATE TABLE clock (seen_s DOUBLE PRECISION NOT NULL, even_since_s DOUBLE PRECISION NOT NULL);
