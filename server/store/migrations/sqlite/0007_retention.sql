-- Outputs are removed by the age of their executions.
CREATE INDEX stored_by_end ON executions (ended) WHERE output IN ('STORED', 'PARTIAL');
