-- Sessions that are not over, by state: counted every few seconds, however many are over.
CREATE INDEX sessions_live ON sessions (state) WHERE state IN ('OPENING', 'OPEN', 'CLOSING');
