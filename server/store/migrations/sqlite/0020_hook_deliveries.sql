-- The results that hooks still have to receive. A row is written with the end of an execution, for each hook that was
-- asked about it, and removed when the hook has accepted the result or the row is too old.
CREATE TABLE hook_deliveries (
  execution_id TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
  hook         TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  -- The number of attempts, with the current one.
  attempt      INTEGER NOT NULL,
  -- The server that sends the result now, until `due`. NULL: none does.
  holder       TEXT,
  created      INTEGER NOT NULL,
  -- The earliest time of the next attempt.
  due          INTEGER NOT NULL,
  PRIMARY KEY (execution_id, hook)
) STRICT;

CREATE INDEX hook_deliveries_by_due ON hook_deliveries (hook, tenant, due, execution_id);
CREATE INDEX hook_deliveries_by_hook ON hook_deliveries (hook, created);
CREATE INDEX hook_deliveries_by_age ON hook_deliveries (created, execution_id, hook);
