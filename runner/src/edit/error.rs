//! The reasons why a file edit has no preview, or was not written.

use std::io;

use airlock_sandbox::LaunchError;
use rustix::io::Errno;

use crate::files::shown;

/// The reason why a file edit has no preview, or was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    #[error("`{}` does not exist", shown(.0))]
    Missing(Vec<u8>),
    #[error("`{}` is not a regular file", shown(.0))]
    NotAFile(Vec<u8>),
    #[error("`{}` is larger than 1 MiB, or becomes larger", shown(.0))]
    TooLarge(Vec<u8>),
    #[error("the path `{}` leads through a link", shown(.0))]
    ThroughLink(Vec<u8>),
    #[error("`{}` is not a plain path below the workspace", shown(.0))]
    Outside(Vec<u8>),
    #[error("it names one file twice")]
    SameFile,
    #[error("the profile or the protection of names makes `{}` read-only or hides it", shown(.0))]
    Masked(Vec<u8>),
    #[error("the backup `{}` would replace a link, a directory or a large file", shown(.0))]
    Backup(Vec<u8>),
    #[error("the file `{}` has changed since the command was approved", shown(.0))]
    Changed(Vec<u8>),
    #[error("the edit of `{}` has another result than the approved one", shown(.0))]
    OtherResult(Vec<u8>),
    #[error("sed failed: {0}")]
    Sed(String),
    #[error("sed did not end within {0} s")]
    Slow(u64),
    #[error("the session was closed")]
    Cancelled,
    #[error("the runner's limits do not permit it: {0}")]
    Floor(String),
    #[error("cannot {action} `{}`: {source}", shown(.path))]
    Io { action: &'static str, path: Vec<u8>, source: io::Error },
    #[error("the copies cannot be made: {0}")]
    Copies(String),
    #[error("the sandbox failed: {0}")]
    Launch(Box<LaunchError>),
    #[error("the session's files cannot be accessed with the permissions of its user")]
    Rights,
}

impl EditError {
    /// Returns the conversion of an error of the operating system.
    pub(super) fn io(action: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Self + use<> {
        let path = path.to_vec();
        move |errno| Self::Io { action, path, source: errno.into() }
    }

    /// Reports whether the files are not those that were approved, so that a new approval is needed.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(
            self,
            Self::Changed(_)
                | Self::OtherResult(_)
                | Self::Missing(_)
                | Self::NotAFile(_)
                | Self::ThroughLink(_)
        )
    }
}

impl From<LaunchError> for EditError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}
