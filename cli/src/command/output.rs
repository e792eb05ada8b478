//! Standard output and standard error: exact bytes, and no panic if a stream has no reader. Text from Airlock can
//! contain text from other sources. It is therefore written without characters that hide text or control the terminal.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::{Failure, terminal::is_raw};
use crate::render::escape;

/// Writes text for people to standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(escape::guard(text).as_bytes())
}

/// Writes coloured text to standard output. The caller must have escaped all foreign text in it.
pub(super) fn print_painted(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes text that a program may read: exact bytes, except on a terminal.
pub(super) fn print_exact(text: &str) -> Result<(), Failure> {
    match io::stdout().is_terminal() {
        true => print(text),
        false => print_bytes(text.as_bytes()),
    }
}

/// Writes exact bytes to standard output.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| failed(&error))
}

/// Writes a value to standard output as one line of JSON.
pub(super) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_bytes(escape::json(&format!("{value}\n")).as_bytes())
}

/// Writes a note from Airlock to standard error. A failed write cannot be reported and is ignored.
pub(super) fn note(text: &str) {
    let text = escape::guard(text);
    let _ = if is_raw() {
        // In raw mode a line feed does not return the cursor to the first column.
        write!(io::stderr(), "\r\nairlock: {}\r\n", text.replace('\n', "\r\n"))
    } else {
        writeln!(io::stderr(), "airlock: {text}")
    };
}

/// Writes the message of a failure to standard error, if it has one.
pub(super) fn report(failure: &Failure) {
    if !failure.message().is_empty() {
        note(failure.message());
    }
}

/// Writes a note below a line of output that has not ended yet.
pub(super) fn note_below(text: &str) {
    let _ = writeln!(io::stderr(), "\nairlock: {}", escape::guard(text));
}

/// Writes bytes and flushes them.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), data: &[u8]) -> Result<(), Failure> {
    let written = async {
        to.write_all(data).await?;
        to.flush().await
    };
    written.await.map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::broken_pipe(),
        _ => Failure::new(format!("cannot write the output: {error}")),
    }
}
