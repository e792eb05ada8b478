//! Standard output and standard error: exact bytes, and no panic where nobody reads them.

use std::io::{self, ErrorKind, Write as _};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::{Failure, terminal::is_raw};

/// Writes text to standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| failed(&error))
}

/// Writes a value to standard output as one line of JSON.
pub(super) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

/// Writes a remark of Airlock's own to standard error. Where that cannot be written there is nobody to
/// tell.
pub(super) fn note(text: &str) {
    let _ = if is_raw() {
        // Else each line would begin where the one before it ended.
        write!(io::stderr(), "\r\nairlock: {}\r\n", text.replace('\n', "\r\n"))
    } else {
        writeln!(io::stderr(), "airlock: {text}")
    };
}

/// The same below a line that has no end yet.
pub(super) fn note_below(text: &str) {
    let _ = writeln!(io::stderr(), "\nairlock: {text}");
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
