-- When the tenant may be denied something if it keeps to the pace of denials, in microseconds.
ALTER TABLE tenants ADD COLUMN denials_paced_to BIGINT NOT NULL DEFAULT 0;
