-- Servers that are there, until their lease is over, and the runners that each has a link to.
CREATE TABLE servers (
  id          TEXT    NOT NULL PRIMARY KEY,
  -- Where other servers reach it; NULL where they cannot.
  address     TEXT,
  lease_until INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
  server_id TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  runner_id TEXT NOT NULL,
  epoch     TEXT NOT NULL,
  PRIMARY KEY (server_id, runner_id)
) STRICT, WITHOUT ROWID;

-- Lives of runners that were followed by another, the latest of each runner.
CREATE TABLE fenced_epochs (
  sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
  runner_id TEXT NOT NULL,
  epoch     TEXT NOT NULL,
  UNIQUE (runner_id, epoch)
) STRICT;

ALTER TABLE runners DROP COLUMN server_id;
