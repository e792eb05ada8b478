//! The errors of checking and changing protected names.

use rustix::io::Errno;

/// A step that failed. Paths are relative to the workspace.
#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    /// The operating system reported an error for a path of the workspace.
    #[error("cannot {action} `{path}`: {source}")]
    Path {
        /// The step that failed.
        action: &'static str,
        /// The path, as text.
        path: String,
        /// The error of the operating system.
        source: Errno,
    },
    /// A directory is nested too deeply.
    #[error("`{path}` is nested deeper than {limit} directories; move or remove it")]
    TooDeep {
        /// The path, truncated.
        path: String,
        /// The maximum nesting.
        limit: usize,
    },
    /// There are too many items.
    #[error("the workspace has more than {limit} {what}; remove some")]
    TooMany {
        /// The kind of items.
        what: &'static str,
        /// The maximum number.
        limit: usize,
    },
    /// The directory with the quarantine and the records cannot be used.
    #[error("quarantine: cannot {action}: {cause}")]
    Store {
        /// The step that failed.
        action: &'static str,
        /// The cause.
        cause: String,
    },
    /// The quarantine has no such item.
    #[error("the quarantine has no `{id}`; list the quarantine for its IDs")]
    NoSuchItem {
        /// The requested ID.
        id: String,
    },
    /// Planted programs in repositories could not be determined, or cannot be removed.
    #[error("cannot check the programs of repositories: {cause}")]
    Planted {
        /// The cause.
        cause: String,
    },
    /// Another file appeared at the path of a restored item.
    #[error("`{path}` was changed by another program at the same time; try again")]
    ChangedMeanwhile {
        /// The path.
        path: String,
    },
}

impl ProtectError {
    pub(super) fn path(action: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Self {
        let path = shown(path);
        move |source| Self::Path { action, path, source }
    }

    pub(super) fn store(action: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::Store { action, cause: errno.to_string() }
    }
}

/// Formats a path for a message: one line, truncated.
pub(super) fn shown(path: &[u8]) -> String {
    const SHOWN: usize = 200;
    let cut = path.get(..SHOWN.min(path.len())).unwrap_or_default();
    let text = cut.escape_ascii().to_string().replace('`', "\\x60");
    if cut.len() < path.len() { format!("{text}...") } else { text }
}
