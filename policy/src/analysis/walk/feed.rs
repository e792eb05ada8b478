//! The data flow between the parts of a pipeline: parts that turn their input into arguments, and
//! the known prefix of those arguments.

use crate::launch;
use crate::parse::{RedirOp, Simple, Statement};

/// Actions of find that print something other than paths, or run a command that may.
const PRINTS_OTHERWISE: &[&[u8]] =
    &[b"-printf", b"-ls", b"-exec", b"-execdir", b"-ok", b"-okdir", b"-files0-from"];

/// Returns the known prefix of the words that `xargs` reads from `find`. `find` is the first part, and `xargs` the
/// second. Empty if the prefix is unknown.
pub(super) fn found(before: &Statement, part: &Statement) -> Vec<u8> {
    let (Statement::Simple(find), Statement::Simple(xargs)) = (before, part) else {
        return Vec::new();
    };
    let own_input = xargs.redirects.iter().all(|redirect| redirect.op == RedirOp::Write);
    if own_input && launch::reads_ended_by_nul(&xargs.words) { start_of(find) } else { Vec::new() }
}

fn start_of(find: &Simple) -> Vec<u8> {
    let Some((program, rest)) = find.words.split_first() else {
        return Vec::new();
    };
    let is_find = program.text.as_deref() == Some(b"find");
    let known = rest.iter().all(|word| match &word.text {
        Some(text) => !PRINTS_OTHERWISE.contains(&text.as_slice()),
        None => false,
    });
    if is_find && known { launch::start_of_found(rest) } else { Vec::new() }
}

/// Reports whether the statement turns its input into arguments.
pub(super) fn reads_arguments(statement: &Statement) -> bool {
    match statement {
        Statement::Simple(simple) => simple
            .words
            .iter()
            .any(|word| matches!(word.text.as_deref(), Some(b"xargs" | b"parallel" | b"read"))),
        Statement::Pipeline(parts) => parts.iter().any(reads_arguments),
        Statement::List(items) => items.iter().any(|(_, item)| reads_arguments(item)),
        Statement::Negated(inner) => reads_arguments(inner),
        Statement::Nested(nested) => nested.body.iter().any(reads_arguments),
        Statement::Function { .. } => false,
    }
}
