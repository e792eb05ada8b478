-- The connections that clients opened to ports of sessions: a row before each connection, and one after it. A refused
-- connection has one row. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_forwards (
  sequence        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Both rows of a connection have the same ID.
  forward_id      TEXT    NOT NULL,
  session_id      TEXT    NOT NULL,
  tenant          TEXT    NOT NULL,
  principal       TEXT    NOT NULL,
  peer            TEXT    NOT NULL,
  port            BIGINT NOT NULL,
  -- BEGUN, ENDED, FAILED or REFUSED.
  step            TEXT    NOT NULL,
  -- The reason code of FAILED and REFUSED.
  reason          TEXT    NOT NULL,
  -- The transferred bytes, to and from the program.
  sent            BIGINT NOT NULL,
  received        BIGINT NOT NULL,
  duration_micros BIGINT NOT NULL,
  at              BIGINT NOT NULL
);

CREATE TRIGGER audit_forwards_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_forwards
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
