//! The fields that an answer is bound to, as JSON.

use serde_json::{Value, json};

use super::parts::{bytes, known};
use airlock_client::v1::{ApprovalTerms, BoundPath, BoundVariable, Word};

/// Formats the fields that an answer is bound to.
pub(super) fn terms(one: &ApprovalTerms) -> Value {
    json!({
        "env": one.env.iter().map(variable).collect::<Vec<_>>(),
        "profile": one.profile,
        "profile_sha256": hex::encode(&one.profile_sha256),
        "read_only": one.read_only,
        "unsandboxed": one.unsandboxed,
        "requires": one.requires,
        "snapshot_sha256": known(!one.snapshot_sha256.is_empty(), || hex::encode(&one.snapshot_sha256)),
        "stdin": one.stdin,
        "terminal": one.terminal.as_ref().map(|size| json!({"rows": size.rows, "cols": size.cols})),
        "programs": one.programs.iter().map(|word: &Word| word.bytes().map(bytes)).collect::<Vec<_>>(),
        "git": one.git,
        "paths": one.paths.iter().map(path).collect::<Vec<_>>(),
        "further": one.further,
    })
}

fn variable(one: &BoundVariable) -> Value {
    json!({
        "name": one.name,
        "value": known(!one.masked, || bytes(one.value())),
        "length": one.length,
        "sha256": known(one.masked, || hex::encode(&one.sha256)),
    })
}

fn path(one: &BoundPath) -> Value {
    json!({"path": bytes(one.path()), "access": one.access})
}
