-- What an answer is bound to beside the command and the files, as an encoded airlock.v1.ApprovalTerms.
ALTER TABLE approvals ADD COLUMN terms BYTEA NOT NULL DEFAULT '';
