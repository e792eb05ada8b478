//! Errors with their causes, for messages and logs.

use std::error::Error;

/// Returns an error with its causes in one line, from the outermost to the innermost.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
