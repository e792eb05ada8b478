-- The connections of a command to other hosts, written with its end. Refers to no other table, as the rest of the
-- audit.
CREATE TABLE audit_connections (
  sequence       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_id   TEXT    NOT NULL,
  tenant         TEXT    NOT NULL,
  principal      TEXT    NOT NULL,
  host           TEXT    NOT NULL,
  port           BIGINT  NOT NULL,
  -- http, connect or socks.
  protocol       TEXT    NOT NULL,
  -- allowed, warned, refused or failed.
  verdict        TEXT    NOT NULL,
  -- The entry and the layer that decided; empty if none did.
  rule           TEXT    NOT NULL,
  layer          TEXT    NOT NULL,
  bytes_up       BIGINT  NOT NULL,
  bytes_down     BIGINT  NOT NULL,
  -- The start by the runner's clock and the duration, in microseconds.
  started        BIGINT  NOT NULL,
  duration       BIGINT  NOT NULL
);

CREATE TRIGGER audit_connections_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_connections
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
