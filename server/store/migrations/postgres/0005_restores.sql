-- What was given back from quarantine, and by whom: a row before it is done, and one after. Refers to no other table, as
-- the rest of the audit.
CREATE TABLE audit_restores (
  sequence      BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id    TEXT    NOT NULL,
  tenant        TEXT    NOT NULL,
  principal     TEXT    NOT NULL,
  peer          TEXT    NOT NULL,
  quarantine_id TEXT    NOT NULL,
  -- The command that made it; empty where that is not known.
  execution_id  TEXT    NOT NULL,
  path          BYTEA   NOT NULL,
  -- BEGUN, RESTORED or FAILED.
  step          TEXT    NOT NULL,
  at            BIGINT  NOT NULL
);

CREATE TRIGGER audit_restores_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_restores
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
