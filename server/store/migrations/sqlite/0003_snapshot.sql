-- A session's shell snapshot, as its runner made it, and why there is none where one was to be.
ALTER TABLE sessions ADD COLUMN snapshot BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN snapshot_problem TEXT NOT NULL DEFAULT '';
