//! Parts of results as JSON: bytes, output, and the fields that an answer is bound to.

use airlock_client::v1::{
    ApprovalTerms, BoundFile, BoundFileState, BoundPath, BoundVariable, EditPreview, FileEdit, FilePreview,
    HookAnswer, HookOutcome, InlineOutput, InlineText, OutputImage, OutputStream, Progress, Word,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{names, time};

/// Formats bytes as text and, if they are not UTF-8, also as base64.
pub(super) fn bytes(data: &[u8]) -> Value {
    match std::str::from_utf8(data) {
        Ok(text) => json!({"text": text, "lossy": false}),
        Err(_) => json!({
            "text": String::from_utf8_lossy(data),
            "lossy": true,
            "base64": STANDARD.encode(data),
        }),
    }
}

pub(super) fn known<T: Into<Value>>(is: bool, value: impl FnOnce() -> T) -> Value {
    if is { value().into() } else { Value::Null }
}

pub(super) fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}

pub(super) fn inline(one: &InlineOutput) -> Value {
    json!({
        "stdout": one.stdout.as_ref().map(text),
        "stderr": one.stderr.as_ref().map(text),
        "images": one.images.iter().map(image).collect::<Vec<_>>(),
        "hints": one.hints,
    })
}

fn text(one: &InlineText) -> Value {
    json!({
        "text": one.text,
        "whole": one.whole,
        "total_bytes": one.total_bytes,
        "total_lines": one.total_lines,
        "truncated_bytes": one.truncated_bytes,
        "invalid_utf8": one.invalid_utf8,
    })
}

fn image(one: &OutputImage) -> Value {
    json!({
        "stream": names::lower::<OutputStream>(one.stream),
        "offset": one.offset,
        "media_type": one.media_type,
        "bytes": one.bytes,
        "width": one.width,
        "height": one.height,
        "data_uri": one.data_uri,
    })
}

pub(super) fn progress(one: &Progress) -> Value {
    json!({
        "elapsed": time::duration(one.elapsed.as_ref()).map(|span| span.as_secs_f64()),
        "total_bytes": one.total_bytes,
        "total_lines": one.total_lines,
        "last_lines": one.last_lines,
        "complete": one.complete,
    })
}

/// Formats the answer of a hook.
pub(super) fn hook(one: &HookAnswer) -> Value {
    json!({
        "hook": one.hook,
        "outcome": names::lower::<HookOutcome>(one.outcome),
        "reason": one.reason,
        "in_effect": one.in_effect,
        "required": one.required,
    })
}

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
        "edit": one.edit.as_ref().map(edit),
    })
}

fn edit(one: &EditPreview) -> Value {
    json!({
        "files": one.files.iter().map(edited_file).collect::<Vec<_>>(),
        "note": known(!one.note.is_empty(), || one.note.clone()),
        "words": one.words.iter().map(|word| word.bytes().map(bytes)).collect::<Vec<_>>(),
    })
}

fn edited_file(one: &FilePreview) -> Value {
    json!({
        "path": bytes(one.path()),
        "before_sha256": hex::encode(&one.before_sha256),
        "after_sha256": hex::encode(&one.after_sha256),
        "before_bytes": one.before_bytes,
        "after_bytes": one.after_bytes,
        "mode": format!("{:03o}", one.mode),
        "binary": one.binary,
        "replaces_link": one.replaces_link,
        "diff": bytes(one.diff()),
        "truncated": one.truncated,
        "backup": one.backup.as_ref().map(bound_file),
    })
}

pub(super) fn bound_file(one: &BoundFile) -> Value {
    json!({
        "path": bytes(one.path()),
        "state": names::upper::<BoundFileState>(one.state),
        "sha256": hex::encode(&one.sha256),
    })
}

/// Formats a file edit.
pub(super) fn file_edit(one: &FileEdit) -> Value {
    let files = one.files.iter().map(
        |file| json!({"path": file.path, "backup": known(!file.backup.is_empty(), || file.backup.clone())}),
    );
    json!({
        "files": files.collect::<Vec<_>>(),
        "expressions": one.expressions,
        "options": one.options,
        "backup_suffix": known(!one.backup_suffix.is_empty(), || one.backup_suffix.clone()),
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
