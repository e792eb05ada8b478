-- All layers that refused a connection or warned about it, and the kind of the refused address.

-- The layers after `layer`, with commas between them.
ALTER TABLE audit_connections ADD COLUMN other_layers TEXT NOT NULL DEFAULT '';
-- Such as private; empty if the host itself was refused.
ALTER TABLE audit_connections ADD COLUMN address_kind TEXT NOT NULL DEFAULT '';
