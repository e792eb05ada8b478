//! The report about an ended execution.

use super::super::output;
use crate::render::{cause, text};
use airlock_client::v1::{Execution, cause::Detail};

/// Reports the result if the exit code alone does not show it.
pub(super) fn report(execution: &Execution) {
    let exited = execution
        .result
        .as_ref()
        .and_then(|outcome| outcome.cause.as_ref())
        .is_some_and(|cause| matches!(cause.detail, Some(Detail::Exited(_))));
    if !exited {
        output::note(&cause::sentence(execution.result.as_ref()));
    }
}

/// Returns the exit code of an ended execution, and writes its result to standard error.
pub(in crate::command) fn end_of(execution: &Execution, notes: bool) -> u8 {
    report(execution);
    for note in text::notes(execution.result.as_ref()).iter().filter(|_| notes) {
        output::note(note);
    }
    cause::exit_code(execution.result.as_ref())
}
