//! Files, changes and parts of output as JSON.

use serde_json::{Value, json};

use super::{
    super::{names, time},
    parts::{bytes, insert, known},
};
use airlock_client::{
    OutputPiece,
    v1::{ChangeKind, FileChange, FileInfo, FileType, OutputDone, OutputLine, QuarantinedFile},
};

/// Formats a file of a session.
#[must_use]
pub fn file(one: &FileInfo) -> Value {
    json!({
        "path": bytes(one.path()),
        "type": names::lower::<FileType>(one.r#type),
        "size": one.size,
        "mode": format!("{:04o}", one.mode),
        "modified": time::rfc3339(one.modified.as_ref()),
        "link_target": known(!one.link_target().is_empty(), || bytes(one.link_target())),
    })
}

/// Formats an entry of the quarantine.
#[must_use]
pub fn quarantined(one: &QuarantinedFile) -> Value {
    json!({
        "id": one.id,
        "file": one.info.as_ref().map(file),
        "reason": one.reason,
        "moved": time::rfc3339(one.moved.as_ref()),
        "execution_id": known(!one.execution_id.is_empty(), || one.execution_id.clone()),
    })
}

/// Formats a change in a workspace.
#[must_use]
pub fn change(one: &FileChange) -> Value {
    json!({
        "kind": names::lower::<ChangeKind>(one.kind),
        "before": one.before.as_ref().map(file),
        "after": one.after.as_ref().map(file),
        "patch": known(!one.patch().is_empty(), || bytes(one.patch())),
        "patch_omitted": known(!one.patch_omitted.is_empty(), || one.patch_omitted.clone()),
    })
}

/// Formats a piece of the output stream named `stream`.
#[must_use]
pub fn piece(stream: &str, one: &OutputPiece) -> Value {
    let (kind, mut says) = match one {
        OutputPiece::Bytes { offset, data } => {
            let mut says = bytes(data);
            insert(&mut says, "offset", json!(offset));
            ("output", says)
        }
        OutputPiece::Gap { from, to } => ("gap", json!({"from": from, "to": to})),
        OutputPiece::Line(found) => ("line", line(found)),
        OutputPiece::Done(done) => ("done", self::done(done)),
    };
    insert(&mut says, "stream", json!(stream));
    json!({"event": kind, kind: says})
}

fn line(one: &OutputLine) -> Value {
    let mut says = bytes(&one.data);
    insert(&mut says, "offset", json!(one.offset));
    insert(&mut says, "truncated", json!(one.truncated));
    insert(&mut says, "number", known(one.number > 0, || one.number));
    insert(&mut says, "context", json!(one.context));
    let matches: Vec<_> = one.matches.iter().map(|span| [span.start, span.end]).collect();
    insert(&mut says, "matches", json!(matches));
    says
}

fn done(one: &OutputDone) -> Value {
    json!({
        "next_offset": one.next_offset,
        "total": one.total,
        "complete": one.complete,
        "matches": one.matches,
        "more": one.more,
    })
}
