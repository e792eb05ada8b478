-- The shells that a runner has said to have, by name, with their versions.
ALTER TABLE runners ADD COLUMN shells TEXT NOT NULL DEFAULT '{}';
