//! Standard output and standard error: exact bytes, and no panic where nobody reads them. The last wall between what
//! somebody else wrote and a terminal: text of Airlock's own goes out without a character that hides or steers.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::{Failure, terminal::is_raw};
use crate::render::escape;

/// Writes text for people to standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(escape::guard(text).as_bytes())
}

/// The same with colours. Whatever is not our own in it must be escaped.
pub(super) fn print_painted(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes text that a program may read: exact, but on a terminal.
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

/// Writes a remark of Airlock's own to standard error. Where that cannot be written there is nobody to
/// tell.
pub(super) fn note(text: &str) {
    let text = escape::guard(text);
    let _ = if is_raw() {
        // Else each line would begin where the one before it ended.
        write!(io::stderr(), "\r\nairlock: {}\r\n", text.replace('\n', "\r\n"))
    } else {
        writeln!(io::stderr(), "airlock: {text}")
    };
}

/// The same below a line that has no end yet.
pub(super) fn note_below(text: &str) {
    let _ = writeln!(io::stderr(), "\nairlock: {}", escape::guard(text));
}

/// Writes bytes and sees them off.
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
        _ => Failure::new(format!("the output cannot be written: {error}")),
    }
}
