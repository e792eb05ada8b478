//! The limits of path rules, and the reasons why rules cannot be enforced.

use std::io;
use std::path::PathBuf;

use crate::mask::MAX_MASKS;

/// The maximum number of entries that are read for one launch.
pub const MAX_RULE_ENTRIES: usize = 500_000;
/// The maximum nesting of directories that are read.
pub const MAX_RULE_DEPTH: usize = 200;
/// The maximum number of links; the kernel's own limit.
pub(super) const MAX_LINKS: usize = 40;

/// The reason why path rules cannot be enforced. One line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathRuleError {
    /// A rule is invalid.
    #[error("the path rule `{rule}` {cause}")]
    Rule {
        /// The rule as written.
        rule: String,
        /// The problem.
        cause: String,
    },
    /// A path that a rule may match cannot be read.
    #[error("path rules: cannot read `{path}`: {source}", path = path.display())]
    Look {
        /// The path inside the sandbox.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A link that a rule matches leads through too many links.
    #[error("path rules: resolving `{path}` follows more than {most} links", path = path.display(), most = MAX_LINKS)]
    Links {
        /// The path inside the sandbox.
        path: PathBuf,
    },
    /// There are too many files and directories.
    #[error(
        "path rules: more than {MAX_RULE_ENTRIES} files and directories must be searched; begin globs with a \
         directory"
    )]
    Entries,
    /// Directories are nested too deeply.
    #[error("path rules: directories are nested deeper than {MAX_RULE_DEPTH} at `{path}`", path = path.display())]
    Depth {
        /// The path inside the sandbox.
        path: PathBuf,
    },
    /// The rules match too many files and directories.
    #[error("path rules: more than {MAX_MASKS} files and directories match; name their parent directories")]
    Masks,
}
