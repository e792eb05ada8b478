-- The connections of a command to other hosts, written with its end. Refers to no other table, as the rest of the
-- audit.
CREATE TABLE audit_connections (
  sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id   TEXT    NOT NULL,
  tenant         TEXT    NOT NULL,
  principal      TEXT    NOT NULL,
  host           TEXT    NOT NULL,
  port           INTEGER NOT NULL,
  -- http, connect or socks.
  protocol       TEXT    NOT NULL,
  -- allowed, warned, refused or failed.
  verdict        TEXT    NOT NULL,
  -- The entry and the layer that decided; empty if none did.
  rule           TEXT    NOT NULL,
  layer          TEXT    NOT NULL,
  bytes_up       INTEGER NOT NULL,
  bytes_down     INTEGER NOT NULL,
  -- The start by the runner's clock and the duration, in microseconds.
  started        INTEGER NOT NULL,
  duration       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_connections_stay BEFORE UPDATE ON audit_connections
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_connections_kept BEFORE DELETE ON audit_connections
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
