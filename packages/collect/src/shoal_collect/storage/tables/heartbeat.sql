-- what /health writes to
CREATE TABLE heartbeat (n {NUMBER} NOT NULL);
INSERT INTO heartbeat VALUES (0);
