-- What was given back from quarantine, and by whom: a row before it is done, and one after. Refers to no other table, as
-- the rest of the audit.
CREATE TABLE audit_restores (
  sequence      INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id    TEXT    NOT NULL,
  tenant        TEXT    NOT NULL,
  principal     TEXT    NOT NULL,
  peer          TEXT    NOT NULL,
  quarantine_id TEXT    NOT NULL,
  -- The command that made it; empty where that is not known.
  execution_id  TEXT    NOT NULL,
  path          BLOB    NOT NULL,
  -- BEGUN, RESTORED or FAILED.
  step          TEXT    NOT NULL,
  at            INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_restores_stay BEFORE UPDATE ON audit_restores
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_restores_kept BEFORE DELETE ON audit_restores
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
