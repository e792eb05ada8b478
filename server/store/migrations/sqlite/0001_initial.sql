-- Ids are hyphenated UUIDs, which sort by time. Times are microseconds since 1970 by the clock of
-- SQLite. Labels, environments (values in base64) and decisions are JSON; results are in the contract's
-- encoding.

-- What tells one store from another; a copy of it has the same.
CREATE TABLE store (
  id BLOB NOT NULL
) STRICT;

INSERT INTO store (id) VALUES (randomblob(16));

CREATE TABLE sessions (
  id            TEXT    NOT NULL PRIMARY KEY,
  version       INTEGER NOT NULL,
  tenant        TEXT    NOT NULL,
  principal     TEXT    NOT NULL,
  request_id    TEXT,
  request_hash  BLOB    NOT NULL,
  state         TEXT    NOT NULL,
  state_message TEXT    NOT NULL,
  profile       TEXT    NOT NULL,
  mode          TEXT    NOT NULL,
  shell         TEXT    NOT NULL,
  directory     BLOB    NOT NULL,
  env           TEXT    NOT NULL,
  runner_id     TEXT    NOT NULL,
  base          TEXT    NOT NULL,
  labels        TEXT    NOT NULL,
  idle_timeout  INTEGER NOT NULL,
  throwaway     INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  last_used     INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX sessions_by_request ON sessions (tenant, principal, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_tenant_state ON sessions (tenant, state);
CREATE INDEX sessions_by_runner ON sessions (runner_id, state);
CREATE INDEX sessions_idle ON sessions (last_used + idle_timeout) WHERE state = 'OPEN';

CREATE TABLE executions (
  id               TEXT    NOT NULL PRIMARY KEY,
  version          INTEGER NOT NULL,
  session_id       TEXT    NOT NULL REFERENCES sessions (id),
  tenant           TEXT    NOT NULL,
  principal        TEXT    NOT NULL,
  request_id       TEXT,
  request_hash     BLOB    NOT NULL,
  state            TEXT    NOT NULL,
  link             TEXT,
  runner_id        TEXT,
  runner_epoch     TEXT,
  attempt          INTEGER NOT NULL,
  owner_server     TEXT,
  lease_until      INTEGER NOT NULL,
  approval_id      TEXT,
  cancel_requested INTEGER NOT NULL,
  -- Who sent it to the background; NULL in the foreground.
  backgrounded     TEXT,
  output           TEXT    NOT NULL,
  output_from      INTEGER NOT NULL,
  traceparent      TEXT    NOT NULL,
  created          INTEGER NOT NULL,
  queued           INTEGER NOT NULL,
  started          INTEGER,
  -- Set exactly when the state is FINISHED, so that the indexes below hold what lives and no more.
  ended            INTEGER,
  labels           TEXT    NOT NULL,
  directory        BLOB    NOT NULL,
  decision         TEXT    NOT NULL,
  result           BLOB,
  -- Whether it takes its turn in the order of its session, so that the order can be found without reading
  -- commands and decisions.
  serial           INTEGER NOT NULL,
  spec             TEXT    NOT NULL,
  command          BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX executions_by_request ON executions (tenant, principal, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX executions_by_tenant ON executions (tenant, id);
CREATE INDEX executions_by_session ON executions (session_id, id);
CREATE INDEX executions_by_runner ON executions (runner_id, id);
CREATE INDEX live_by_tenant ON executions (tenant, id) WHERE ended IS NULL;
CREATE INDEX live_by_session ON executions (session_id, id) WHERE ended IS NULL;
CREATE INDEX live_by_runner ON executions (runner_id, id) WHERE ended IS NULL;
CREATE INDEX live_by_owner ON executions (owner_server) WHERE ended IS NULL;
CREATE INDEX live_by_id ON executions (id) WHERE ended IS NULL;
-- The limit of the queue is counted with each creation.
CREATE INDEX queued_by_id ON executions (id) WHERE state = 'QUEUED';
CREATE INDEX unstored_by_id ON executions (id) WHERE ended IS NOT NULL AND output IN ('LIVE', 'STORING');

CREATE TABLE state_changes (
  execution_id    TEXT    NOT NULL REFERENCES executions (id),
  version         INTEGER NOT NULL,
  state           TEXT    NOT NULL,
  link            TEXT,
  at              INTEGER NOT NULL,
  approval_id     TEXT,
  backgrounded_by TEXT,
  PRIMARY KEY (execution_id, version)
) STRICT, WITHOUT ROWID;

-- The starts, backgroundings and ends of all executions, in the order in which they were committed. A
-- sequence is never given twice.
CREATE TABLE milestones (
  sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT    NOT NULL REFERENCES executions (id),
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  milestone    TEXT    NOT NULL
) STRICT;

CREATE INDEX milestones_by_tenant ON milestones (tenant, sequence);
CREATE INDEX milestones_by_session ON milestones (session_id, sequence);

CREATE TABLE approvals (
  id           TEXT    NOT NULL PRIMARY KEY,
  execution_id TEXT    NOT NULL REFERENCES executions (id),
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  binding      BLOB    NOT NULL,
  shell        TEXT    NOT NULL,
  directory    BLOB    NOT NULL,
  description  TEXT    NOT NULL,
  decision     TEXT    NOT NULL,
  created      INTEGER NOT NULL,
  expires      INTEGER NOT NULL,
  decided_by   TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  command      BLOB    NOT NULL
) STRICT;

CREATE INDEX approvals_by_tenant ON approvals (tenant, state, id);
CREATE INDEX approvals_by_session ON approvals (session_id, state, id);
CREATE INDEX approvals_by_execution ON approvals (execution_id, id);
CREATE INDEX approvals_open ON approvals (expires) WHERE state = 'OPEN';

CREATE TABLE runners (
  id           TEXT    NOT NULL PRIMARY KEY,
  epoch        TEXT    NOT NULL,
  server_id    TEXT,
  draining     INTEGER NOT NULL,
  version      TEXT    NOT NULL,
  labels       TEXT    NOT NULL,
  slots        INTEGER NOT NULL,
  bases        TEXT    NOT NULL,
  capabilities TEXT    NOT NULL,
  last_seen    INTEGER NOT NULL
) STRICT;

-- The audit refers to no other table, so that it outlives what it is about. An entry is two rows: one
-- written before the command can start, one after its end.
CREATE TABLE audit_opened (
  sequence     INTEGER NOT NULL PRIMARY KEY,
  execution_id TEXT    NOT NULL UNIQUE,
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  peer         TEXT    NOT NULL,
  verdict      TEXT    NOT NULL,
  reason_code  TEXT    NOT NULL,
  opened       INTEGER NOT NULL,
  command      BLOB    NOT NULL
) STRICT;

CREATE TABLE audit_closed (
  execution_id TEXT    NOT NULL PRIMARY KEY,
  verdict      TEXT    NOT NULL,
  reason_code  TEXT    NOT NULL,
  decided_by   TEXT    NOT NULL,
  runner_id    TEXT,
  cause        TEXT    NOT NULL,
  started      TEXT    NOT NULL,
  closed       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_opened_stays BEFORE UPDATE ON audit_opened
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_opened_kept BEFORE DELETE ON audit_opened
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_closed_stays BEFORE UPDATE ON audit_closed
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_closed_kept BEFORE DELETE ON audit_closed
  BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
