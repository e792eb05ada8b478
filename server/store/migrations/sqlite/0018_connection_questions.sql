-- The connection of a running command that an approval is about. NULL: the approval is about the command itself.
ALTER TABLE approvals ADD COLUMN connection_host TEXT;
ALTER TABLE approvals ADD COLUMN connection_port INTEGER;
ALTER TABLE approvals ADD COLUMN connection_rule TEXT;

-- The answers to questions about connections, and their approvers. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_answers (
  sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
  approval_id  TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  host         TEXT    NOT NULL,
  port         INTEGER NOT NULL,
  rule         TEXT    NOT NULL,
  -- ALLOWED, DENIED or EXPIRED.
  answer       TEXT    NOT NULL,
  -- The approver. Empty for EXPIRED.
  principal    TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_answers_stay BEFORE UPDATE ON audit_answers
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_answers_kept BEFORE DELETE ON audit_answers
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
