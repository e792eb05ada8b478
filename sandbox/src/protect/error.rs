//! Why protected names could not be looked at or acted upon.

use rustix::io::Errno;

/// A step that failed. Paths are relative to the workspace.
#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    /// The system's answer to work on the workspace.
    #[error("cannot {action} `{path}`: {source}")]
    Path {
        /// What was tried.
        action: &'static str,
        /// Where, as text.
        path: String,
        /// The system's answer.
        source: Errno,
    },
    /// A folder is nested too deep to be looked into.
    #[error("`{path}` is nested deeper than {limit} folders; move or remove it")]
    TooDeep {
        /// Where, cut to its beginning.
        path: String,
        /// Folders.
        limit: usize,
    },
    /// There is more than is looked at.
    #[error("the workspace has more than {limit} {what}; remove some")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// The folder beside the workspace that holds quarantine and records.
    #[error("quarantine: cannot {action}: {cause}")]
    Vault {
        /// What was tried.
        action: &'static str,
        /// The answer.
        cause: String,
    },
    /// There is no such item in the quarantine.
    #[error("the quarantine has no `{id}`; list it for what it has")]
    NoSuchItem {
        /// As asked for.
        id: String,
    },
    /// What is planted in repositories could not be found, or is where it cannot be taken away.
    #[error("programs that repositories name: {cause}")]
    Planted {
        /// Why.
        cause: String,
    },
    /// Something else appeared where an item was to be given back.
    #[error("`{path}` was changed by another program at the same time; try again")]
    ChangedMeanwhile {
        /// Where.
        path: String,
    },
}

impl ProtectError {
    pub(super) fn path(action: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Self {
        let path = shown(path);
        move |source| Self::Path { action, path, source }
    }

    pub(super) fn vault(action: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::Vault { action, cause: errno.to_string() }
    }
}

/// A path as it can stand in a message: one line, cut.
pub(super) fn shown(path: &[u8]) -> String {
    const SHOWN: usize = 200;
    let cut = path.get(..SHOWN.min(path.len())).unwrap_or_default();
    let text = cut.escape_ascii().to_string().replace('`', "\\x60");
    if cut.len() < path.len() { format!("{text}...") } else { text }
}
