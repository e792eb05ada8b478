-- Whether an execution takes its turn in the order of its session; so that the order can be found without
-- reading commands and decisions. What is there already keeps its turn.
ALTER TABLE executions ADD COLUMN serial INTEGER NOT NULL DEFAULT 1;
