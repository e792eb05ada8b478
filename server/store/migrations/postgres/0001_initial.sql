-- Ids are hyphenated UUIDs, which sort by time. Times are microseconds since 1970 by the clock of the
-- database. Labels, environments (values in base64) and decisions are JSON; results are in the contract's
-- encoding. What lists are ordered by is ordered by its bytes.

-- What tells one store from another; a copy of it has the same.
CREATE TABLE store (
  id BYTEA NOT NULL
);

INSERT INTO store (id) VALUES (decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));

-- The numbers that were last given. Taken as the last thing before a commit, under the lock of the row.
CREATE TABLE counters (
  name  TEXT   NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
) WITH (fillfactor = 10);

INSERT INTO counters (name, value) VALUES ('audit', 0), ('milestones', 0);

CREATE TABLE sessions (
  id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  version       BIGINT  NOT NULL,
  tenant        TEXT    NOT NULL,
  principal     TEXT    NOT NULL,
  request_id    TEXT,
  request_hash  BYTEA   NOT NULL,
  state         TEXT    NOT NULL,
  state_message TEXT    NOT NULL,
  profile       TEXT    NOT NULL,
  mode          TEXT    NOT NULL,
  shell         TEXT    NOT NULL,
  directory     BYTEA   NOT NULL,
  env           TEXT    NOT NULL,
  runner_id     TEXT    NOT NULL,
  base          TEXT    NOT NULL,
  labels        TEXT    NOT NULL,
  idle_timeout  BIGINT  NOT NULL,
  throwaway     BOOLEAN NOT NULL,
  created       BIGINT  NOT NULL,
  last_used     BIGINT  NOT NULL,
  -- Its shell snapshot, as its runner made it, and why there is none where one was to be.
  snapshot         BYTEA   NOT NULL,
  snapshot_problem TEXT    NOT NULL
);

CREATE UNIQUE INDEX sessions_by_request ON sessions (tenant, principal, request_id)
  WHERE request_id IS NOT NULL;
CREATE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_tenant_state ON sessions (tenant, state);
CREATE INDEX sessions_by_runner ON sessions (runner_id, state);
CREATE INDEX sessions_idle ON sessions ((last_used + idle_timeout)) WHERE state = 'OPEN';

CREATE TABLE executions (
  id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  version          BIGINT  NOT NULL,
  session_id       TEXT    NOT NULL REFERENCES sessions (id),
  tenant           TEXT    NOT NULL,
  principal        TEXT    NOT NULL,
  request_id       TEXT,
  request_hash     BYTEA   NOT NULL,
  state            TEXT    NOT NULL,
  link             TEXT,
  runner_id        TEXT,
  runner_epoch     TEXT,
  attempt          BIGINT  NOT NULL,
  owner_server     TEXT,
  lease_until      BIGINT  NOT NULL,
  approval_id      TEXT,
  cancel_requested BOOLEAN NOT NULL,
  -- Who sent it to the background; NULL in the foreground.
  backgrounded     TEXT,
  output           TEXT    NOT NULL,
  output_from      BIGINT  NOT NULL,
  traceparent      TEXT    NOT NULL,
  created          BIGINT  NOT NULL,
  queued           BIGINT  NOT NULL,
  started          BIGINT,
  -- Set exactly when the state is FINISHED, so that the indexes below hold what lives and no more.
  ended            BIGINT,
  labels           TEXT    NOT NULL,
  directory        BYTEA   NOT NULL,
  decision         TEXT    NOT NULL,
  result           BYTEA,
  -- Whether it takes its turn in the order of its session, so that the order can be found without reading
  -- commands and decisions.
  serial           BOOLEAN NOT NULL,
  -- How long it may stay in the foreground, in microseconds; NULL: to its end.
  yield_after      BIGINT,
  spec             TEXT    NOT NULL,
  command          BYTEA   NOT NULL
);

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
-- Outputs are removed by the age of their executions.
CREATE INDEX stored_by_end ON executions (ended) WHERE output IN ('STORED', 'PARTIAL');

CREATE TABLE state_changes (
  execution_id    TEXT    NOT NULL REFERENCES executions (id),
  version         BIGINT  NOT NULL,
  state           TEXT    NOT NULL,
  link            TEXT,
  at              BIGINT  NOT NULL,
  approval_id     TEXT,
  backgrounded_by TEXT,
  PRIMARY KEY (execution_id, version)
);

-- The starts, backgroundings and ends of all executions, in the order in which they were committed.
CREATE TABLE milestones (
  sequence     BIGINT  NOT NULL PRIMARY KEY,
  execution_id TEXT    NOT NULL REFERENCES executions (id),
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  milestone    TEXT    NOT NULL
);

CREATE INDEX milestones_by_tenant ON milestones (tenant, sequence);
CREATE INDEX milestones_by_session ON milestones (session_id, sequence);

CREATE TABLE approvals (
  id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  execution_id TEXT    NOT NULL REFERENCES executions (id),
  session_id   TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  binding      BYTEA   NOT NULL,
  shell        TEXT    NOT NULL,
  directory    BYTEA   NOT NULL,
  description  TEXT    NOT NULL,
  decision     TEXT    NOT NULL,
  created      BIGINT  NOT NULL,
  expires      BIGINT  NOT NULL,
  decided_by   TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  command      BYTEA   NOT NULL,
  -- What the command would run of what commands of its session can write, as JSON.
  files        TEXT    NOT NULL
);

CREATE INDEX approvals_by_tenant ON approvals (tenant, state, id);
CREATE INDEX approvals_by_session ON approvals (session_id, state, id);
CREATE INDEX approvals_by_execution ON approvals (execution_id, id);
CREATE INDEX approvals_open ON approvals (expires) WHERE state = 'OPEN';

CREATE TABLE runners (
  id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  epoch        TEXT    NOT NULL,
  server_id    TEXT,
  draining     BOOLEAN NOT NULL,
  version      TEXT    NOT NULL,
  labels       TEXT    NOT NULL,
  slots        BIGINT  NOT NULL,
  bases        TEXT    NOT NULL,
  capabilities TEXT    NOT NULL,
  -- The shells that it has said to have, by name, with their versions.
  shells       TEXT    NOT NULL,
  last_seen    BIGINT  NOT NULL
);

-- The audit refers to no other table, so that it outlives what it is about. An entry is two rows: one
-- written before the command can start, one after its end.
CREATE TABLE audit_opened (
  sequence     BIGINT  NOT NULL PRIMARY KEY,
  execution_id TEXT    NOT NULL UNIQUE,
  tenant       TEXT    NOT NULL,
  principal    TEXT    NOT NULL,
  peer         TEXT    NOT NULL,
  verdict      TEXT    NOT NULL,
  reason_code  TEXT    NOT NULL,
  opened       BIGINT  NOT NULL,
  command      BYTEA   NOT NULL
);

CREATE TABLE audit_closed (
  execution_id TEXT    NOT NULL PRIMARY KEY,
  verdict      TEXT    NOT NULL,
  reason_code  TEXT    NOT NULL,
  decided_by   TEXT    NOT NULL,
  runner_id    TEXT,
  cause        TEXT    NOT NULL,
  started      TEXT    NOT NULL,
  closed       BIGINT  NOT NULL
);

-- Rules that were remembered with answers. Those of a session go with it.
CREATE TABLE remembered_rules (
  id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  tenant      TEXT    NOT NULL,
  -- Empty for the tenant's own.
  session_id  TEXT    NOT NULL,
  profile     TEXT    NOT NULL,
  rule        TEXT    NOT NULL,
  approval_id TEXT    NOT NULL,
  decided_by  TEXT    NOT NULL,
  created     BIGINT  NOT NULL
);

CREATE UNIQUE INDEX remembered_once ON remembered_rules (tenant, session_id, profile, rule);

-- Who had which rule remembered, and who removed it: never changed.
CREATE TABLE audit_rules (
  sequence    BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule_id     TEXT    NOT NULL,
  tenant      TEXT    NOT NULL,
  session_id  TEXT    NOT NULL,
  profile     TEXT    NOT NULL,
  rule        TEXT    NOT NULL,
  approval_id TEXT    NOT NULL,
  -- REMEMBERED or REMOVED, and by whom.
  change      TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  at          BIGINT  NOT NULL
);

CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit is append-only';
END
$$;

CREATE TRIGGER audit_opened_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_opened
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_closed_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_closed
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_rules_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_rules
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
