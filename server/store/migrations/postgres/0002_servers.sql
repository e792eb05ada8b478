-- Servers that are there, until their lease is over, and the runners that each has a link to.
CREATE TABLE servers (
  id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- Where other servers reach it; NULL where they cannot.
  address     TEXT,
  lease_until BIGINT NOT NULL
);

CREATE TABLE links (
  server_id TEXT COLLATE "C" NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  runner_id TEXT COLLATE "C" NOT NULL,
  epoch     TEXT NOT NULL,
  PRIMARY KEY (server_id, runner_id)
);

-- Lives of runners that were followed by another, the latest of each runner.
CREATE TABLE fenced_epochs (
  sequence  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  runner_id TEXT COLLATE "C" NOT NULL,
  epoch     TEXT NOT NULL,
  UNIQUE (runner_id, epoch)
);

ALTER TABLE runners DROP COLUMN server_id;
