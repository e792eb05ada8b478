//! The errors of file work, as messages for clients. They contain no host path and no text of the operating system.

use airlock_archive::{ArchiveError, Cause, Obstacle};
use airlock_domain::{ExchangeFailed, ExchangeFailure};
use airlock_sandbox::{HOME, TMP, WORKSPACE};
use rustix::io::Errno;

/// The maximum length of a path in a message.
const SHOWN_BYTES: usize = 200;

pub(super) fn failed(failure: ExchangeFailure, reason: &str, message: impl Into<String>) -> ExchangeFailed {
    ExchangeFailed { failure, reason: reason.to_owned(), message: message.into() }
}

pub(super) fn invalid(reason: &str, message: impl Into<String>) -> ExchangeFailed {
    failed(ExchangeFailure::Invalid, reason, message)
}

pub(super) fn precondition(reason: &str, message: impl Into<String>) -> ExchangeFailed {
    failed(ExchangeFailure::FailedPrecondition, reason, message)
}

pub(super) fn unavailable(reason: &str, message: impl Into<String>) -> ExchangeFailed {
    failed(ExchangeFailure::Unavailable, reason, message)
}

/// The error for an exceeded limit of the runner's configuration.
pub(super) fn exhausted(limit: &str, value: u64, what: &str) -> ExchangeFailed {
    let failure = ExchangeFailure::Exhausted { limit: limit.to_owned(), value };
    failed(failure, "LIMIT_REACHED", format!("{what}: the runner's `{limit}` is {value}"))
}

/// The error for an internal fault. The details go to the log.
pub(super) fn internal(step: &'static str, error: &dyn std::fmt::Display) -> ExchangeFailed {
    tracing::error!(step, %error, "file work failed");
    failed(
        ExchangeFailure::Internal,
        "INTERNAL",
        format!("internal error of the runner at: {step}; see its log"),
    )
}

pub(super) fn session_closed() -> ExchangeFailed {
    precondition("SESSION_CLOSED", "the session was closed in the meantime; use an open session")
}

pub(super) fn shutting_down() -> ExchangeFailed {
    unavailable("RUNNER_ENDING", "the runner is shutting down; continue when it is running again")
}

pub(super) fn not_found(path: &[u8]) -> ExchangeFailed {
    let message = format!("`{}` does not exist", shown(path));
    failed(ExchangeFailure::NotFound, "NO_SUCH_FILE", message)
}

pub(super) fn is_a_directory(path: &[u8], remedy: &str) -> ExchangeFailed {
    precondition("IS_A_DIRECTORY", format!("`{}` is a directory; {remedy}", shown(path)))
}

pub(super) fn not_a_directory(path: &[u8], remedy: &str) -> ExchangeFailed {
    precondition("NOT_A_DIRECTORY", format!("`{}` is not a directory; {remedy}", shown(path)))
}

pub(super) fn changed_meanwhile(path: &[u8]) -> ExchangeFailed {
    let said = format!("`{}` was changed by another program at the same time", shown(path));
    precondition("CHANGED_MEANWHILE", said)
}

/// The error of the operating system for a path of a session. `path` is the path inside the sandbox.
pub(super) fn of_path(path: &[u8], errno: Errno) -> ExchangeFailed {
    let shown = shown(path);
    match errno {
        Errno::NOENT => not_found(path),
        Errno::NOTDIR => not_a_directory(path, "a parent of the path is not a directory: check it with Stat"),
        Errno::LOOP | Errno::XDEV => precondition(
            "LINK_LEAVES",
            format!(
                "`{shown}` is or contains a symbolic link that is absolute, leaves {WORKSPACE}, {HOME} or \
                 {TMP}, or forms a loop; name the file itself"
            ),
        ),
        Errno::ACCESS | Errno::PERM => precondition(
            "NOT_READABLE",
            format!(
                "the permissions of `{shown}` or of its directory do not let the session's user read or \
                 change it; change them with chmod, or leave it out"
            ),
        ),
        Errno::NAMETOOLONG => {
            invalid("PATH_INVALID", format!("a component of `{shown}` has more than 255 bytes; shorten it"))
        }
        Errno::NOSPC | Errno::DQUOT => session_full(),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => {
            unavailable("BUSY", "the runner has no free file descriptors or memory; try again")
        }
        other => internal("a file of a session", &other),
    }
}

/// The error for a full session disk, or for a full disk of the runner. A client does not retry it by itself, because
/// somebody has to remove files first.
pub(super) fn session_full() -> ExchangeFailed {
    precondition(
        "DISK_FULL",
        "the session's disk limit is reached, or the runner's disk is full; remove files from the workspace, \
         HOME or /tmp, and try again",
    )
}

pub(super) fn disk_full(of: &str) -> ExchangeFailed {
    unavailable(
        "DISK_FULL",
        format!("the file system of the runner's {of} is full; free space there, and try again"),
    )
}

/// The error of the operating system for one of the runner's own files.
pub(super) fn of_own(step: &'static str, errno: Errno) -> ExchangeFailed {
    match errno {
        Errno::NOSPC | Errno::DQUOT => disk_full("`state_dir`"),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            unavailable("BUSY", "the runner has no free file descriptors or memory; try again")
        }
        other => internal(step, &other),
    }
}

/// Like [`of_own`].
pub(super) fn of_own_io(step: &'static str, error: &std::io::Error) -> ExchangeFailed {
    match error.raw_os_error() {
        Some(raw) => of_own(step, Errno::from_raw_os_error(raw)),
        None => internal(step, error),
    }
}

/// The error of the archive library. `stopped` is the error of its reader or writer, if it caused the failure.
pub(super) fn of_archive(error: &ArchiveError, stopped: Option<ExchangeFailed>) -> ExchangeFailed {
    let said = error.to_string();
    match &error.cause {
        Cause::Refused { .. } | Cause::Malformed { .. } | Cause::Truncated { .. } => {
            invalid("ARCHIVE_REFUSED", said)
        }
        Cause::Limit { limit: "entries", value, .. } => exhausted("transfers.entries", *value, &said),
        Cause::Limit { limit: "bytes", value, .. } => exhausted("transfers.unpacked_bytes", *value, &said),
        Cause::Limit { limit, value, .. } => exhausted(limit, *value, &said),
        Cause::InTheWay { obstacle, .. } => match obstacle {
            Obstacle::NotADirectory => precondition("NOT_A_DIRECTORY", said),
            Obstacle::ADirectory => precondition("IS_A_DIRECTORY", said),
            Obstacle::Changed => precondition("CHANGED_MEANWHILE", said),
        },
        Cause::Cancelled => unavailable("CANCELLED", "the transfer was interrupted; continue it"),
        Cause::Read { source } | Cause::Write { source } => {
            stopped.unwrap_or_else(|| of_own_io("a transfer's bytes", source))
        }
        Cause::Directory { path, source, .. } => match source.raw_os_error() {
            Some(raw) => of_path(path.as_bytes(), Errno::from_raw_os_error(raw)),
            None => internal("a directory of a session", source),
        },
    }
}

/// Formats a path for a message: one line, without terminal control characters.
pub(crate) fn shown(path: &[u8]) -> String {
    let cut = path.get(..SHOWN_BYTES.min(path.len())).unwrap_or_default();
    let mut text: String = cut.utf8_chunks().fold(String::new(), |text, chunk| {
        let valid: String = chunk.valid().chars().map(escaped).collect();
        text + &valid + &chunk.invalid().escape_ascii().to_string()
    });
    if cut.len() < path.len() {
        text.push_str("...");
    }
    text
}

fn escaped(char: char) -> String {
    match char {
        '`' => "\\x60".to_owned(),
        '\'' | '"' => char.to_string(),
        _ => char.escape_debug().to_string(),
    }
}
