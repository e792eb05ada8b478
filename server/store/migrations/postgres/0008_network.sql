-- The network rules of a session, as JSON. NULL: the session does not narrow the profile's network.
ALTER TABLE sessions ADD COLUMN network TEXT;
