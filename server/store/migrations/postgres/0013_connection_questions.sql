-- The connection of a running command that an approval is about. NULL: the approval is about the command itself.
ALTER TABLE approvals ADD COLUMN connection_host TEXT;
ALTER TABLE approvals ADD COLUMN connection_port BIGINT;
ALTER TABLE approvals ADD COLUMN connection_rule TEXT;

-- The answers to questions about connections, and their approvers. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_answers (
  sequence     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  approval_id  TEXT    NOT NULL,
  execution_id TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  host         TEXT    NOT NULL,
  port         BIGINT  NOT NULL,
  rule         TEXT    NOT NULL,
  -- ALLOWED, DENIED or EXPIRED.
  answer       TEXT    NOT NULL,
  -- The approver. Empty for EXPIRED.
  principal    TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  at           BIGINT  NOT NULL
);

CREATE TRIGGER audit_answers_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_answers
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
