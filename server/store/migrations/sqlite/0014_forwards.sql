-- The connections that clients opened to ports of sessions: a row before each connection, and one after it. A refused
-- connection has one row. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_forwards (
  sequence        INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Both rows of a connection have the same ID.
  forward_id      TEXT    NOT NULL,
  session_id      TEXT    NOT NULL,
  tenant          TEXT    NOT NULL,
  principal       TEXT    NOT NULL,
  peer            TEXT    NOT NULL,
  port            INTEGER NOT NULL,
  -- BEGUN, ENDED, FAILED or REFUSED.
  step            TEXT    NOT NULL,
  -- The reason code of FAILED and REFUSED.
  reason          TEXT    NOT NULL,
  -- The transferred bytes, to and from the program.
  sent            INTEGER NOT NULL,
  received        INTEGER NOT NULL,
  duration_micros INTEGER NOT NULL,
  at              INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_forwards_stay BEFORE UPDATE ON audit_forwards
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_forwards_kept BEFORE DELETE ON audit_forwards
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
