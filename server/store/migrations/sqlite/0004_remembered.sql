-- What the command would run of what commands of its session can write, as JSON.
ALTER TABLE approvals ADD COLUMN files TEXT NOT NULL DEFAULT '[]';

-- Rules that were remembered with answers. Those of a session go with it.
CREATE TABLE remembered_rules (
  id          TEXT    NOT NULL PRIMARY KEY,
  tenant      TEXT    NOT NULL,
  -- Empty for the tenant's own.
  session_id  TEXT    NOT NULL,
  profile     TEXT    NOT NULL,
  rule        TEXT    NOT NULL,
  approval_id TEXT    NOT NULL,
  decided_by  TEXT    NOT NULL,
  created     INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX remembered_once ON remembered_rules (tenant, session_id, profile, rule);

-- Who had which rule remembered, and who removed it: never changed.
CREATE TABLE audit_rules (
  sequence    INTEGER PRIMARY KEY AUTOINCREMENT,
  rule_id     TEXT    NOT NULL,
  tenant      TEXT    NOT NULL,
  session_id  TEXT    NOT NULL,
  profile     TEXT    NOT NULL,
  rule        TEXT    NOT NULL,
  approval_id TEXT    NOT NULL,
  -- REMEMBERED or REMOVED, and by whom.
  change      TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  at          INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_rules_stay BEFORE UPDATE ON audit_rules
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_rules_kept BEFORE DELETE ON audit_rules
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
