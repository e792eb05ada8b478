-- The IDs of starts whose hooks are being asked, by the client's key. A repeated request gets the same IDs. Rows are
-- removed after an hour.
CREATE TABLE hook_starts (
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  request_id   TEXT    NOT NULL,
  request_hash BLOB    NOT NULL,
  execution_id TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  made         INTEGER NOT NULL,
  PRIMARY KEY (tenant, principal, request_id)
) STRICT;
CREATE INDEX hook_starts_by_age ON hook_starts (made);

-- The questions to hooks, each with its answer. A question is asked once. Rows are removed an hour after `until`, when
-- their execution has ended or was never stored.
CREATE TABLE hook_questions (
  execution_id TEXT    NOT NULL,
  hook         TEXT    NOT NULL,
  binding      BLOB    NOT NULL,
  -- A question without an answer at this time counts as unanswered.
  until        INTEGER NOT NULL,
  -- JSON. NULL until the hook has answered.
  answer       TEXT,
  PRIMARY KEY (execution_id, hook, binding)
) STRICT;
CREATE INDEX hook_questions_by_age ON hook_questions (until);

-- The answers of hooks. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_hooks (
  sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT    NOT NULL,
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  -- JSON, as in hook_questions.
  answer       TEXT    NOT NULL,
  at           INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_hooks_stay BEFORE UPDATE ON audit_hooks
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_hooks_kept BEFORE DELETE ON audit_hooks
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
