-- How long an execution may stay in the foreground, in microseconds; NULL: to its end. A column, so that what is
-- due is found without reading specs.
ALTER TABLE executions ADD COLUMN yield_after INTEGER;
