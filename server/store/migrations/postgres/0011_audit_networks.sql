-- The changes of the network rules of sessions, and their principals. Refers to no other table, as the rest of the audit.
CREATE TABLE audit_networks (
  sequence   BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  principal  TEXT    NOT NULL,
  peer       TEXT    NOT NULL,
  -- The rules before and after the change, as JSON. NULL: the session did not narrow the profile's network.
  old_rules  TEXT,
  new_rules  TEXT,
  at         BIGINT  NOT NULL
);

CREATE TRIGGER audit_networks_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_networks
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
