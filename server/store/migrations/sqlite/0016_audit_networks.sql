-- The changes of the network rules of sessions, and their principals. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_networks (
  sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  principal  TEXT    NOT NULL,
  peer       TEXT    NOT NULL,
  -- The rules before and after the change, as JSON. NULL: the session did not narrow the profile's network.
  old_rules  TEXT,
  new_rules  TEXT,
  at         INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_networks_stay BEFORE UPDATE ON audit_networks
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_networks_kept BEFORE DELETE ON audit_networks
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
