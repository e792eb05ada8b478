-- What is counted of each tenant, for the limits and for its place in the queue.
CREATE TABLE tenants (
  name         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- What it was served, in the queue's virtual time, and what one more placement costs it.
  served       BIGINT NOT NULL,
  cost         BIGINT NOT NULL,
  -- When it may start something if it keeps to its pace, in microseconds.
  paced_to     BIGINT NOT NULL,
  -- Bytes that its commands wrote on this day since 1970.
  output_day   BIGINT NOT NULL,
  output_bytes BIGINT NOT NULL
);

CREATE INDEX tenants_by_served ON tenants (served);

-- Until when what is QUEUED is left to the server that is placing it.
ALTER TABLE executions ADD COLUMN taken_until BIGINT NOT NULL DEFAULT 0;

-- What its runner must have, as JSON.
ALTER TABLE sessions ADD COLUMN runner_labels TEXT NOT NULL DEFAULT '{}';
