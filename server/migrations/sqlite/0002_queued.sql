-- The limit of the queue is counted with each creation.
CREATE INDEX queued_by_id ON executions (id) WHERE state = 'QUEUED';
