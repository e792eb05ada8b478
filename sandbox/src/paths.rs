//! Path rules: resolves globs to the masks of one launch.
//!
//! Reads the current directories through handles, with the rights of its thread. Must not follow a link out of the
//! given directories, and must not create a mask for a missing path.

mod pattern;
pub(crate) mod places;
mod walk;

use std::io;
use std::path::PathBuf;

use crate::mask::{MAX_MASKS, Mask};
use crate::profile::{Bind, PathRules, Profile};
use crate::session::Folders;
use pattern::Patterns;
use places::Place;
use walk::Walk;

/// The maximum number of entries that are read for one launch.
pub const MAX_RULE_ENTRIES: usize = 500_000;
/// The maximum nesting of directories that are read.
pub const MAX_RULE_DEPTH: usize = 200;

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
        /// The path inside.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A link that a rule matches leads through too many links.
    #[error("path rules: `{path}` leads through more than {most} links", path = path.display(), most = places::MAX_LINKS)]
    Links {
        /// The path inside.
        path: PathBuf,
    },
    /// There are too many files and directories.
    #[error(
        "path rules: more than {MAX_RULE_ENTRIES} files and directories must be searched; begin globs with a \
         directory"
    )]
    Entries,
    /// Directories are nested too deep.
    #[error("path rules: directories are nested deeper than {MAX_RULE_DEPTH} at `{path}`", path = path.display())]
    Depth {
        /// The path inside.
        path: PathBuf,
    },
    /// The rules match too many files and directories.
    #[error("path rules: more than {MAX_MASKS} files and directories match; name their parent directories")]
    Masks,
}

/// A cover over a part of the root, which is the host's and read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootCover {
    /// An empty directory without permissions.
    Folder {
        /// The absolute path inside.
        path: PathBuf,
        /// Whether a path in it is shown again.
        around: bool,
    },
    /// An empty file without permissions.
    File {
        /// The absolute path inside.
        path: PathBuf,
    },
    /// A path of the host that is shown again.
    Again(Bind),
}

impl RootCover {
    /// Returns the path inside.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Folder { path, .. } | Self::File { path } => path,
            Self::Again(bind) => &bind.target,
        }
    }
}

/// The result of path rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// For [`crate::LaunchSpec::masks`].
    pub masks: Vec<Mask>,
    /// For [`Profile::covers`].
    pub covers: Vec<RootCover>,
}

/// Parsed path rules, with the open directories that they may match.
#[derive(Debug)]
pub struct RuleScope {
    patterns: Patterns,
    places: Vec<Place>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl RuleScope {
    /// Parses the rules and opens the directories, with the runner's rights. `None` if there are no rules.
    ///
    /// # Errors
    ///
    /// If a rule is invalid or a directory cannot be opened.
    pub fn open(
        rules: &PathRules,
        folders: &Folders,
        profile: &Profile,
    ) -> Result<Option<Self>, PathRuleError> {
        if *rules == PathRules::default() {
            return Ok(None);
        }
        let patterns = Patterns::new(rules)?;
        let places = places::open(folders, profile)?;
        let links = places::root_links(profile);
        Ok(Some(Self { patterns, places, links }))
    }

    /// Reports whether the result depends on the session's directories alone, and not on the host's.
    #[must_use]
    pub fn is_of_session(&self) -> bool {
        let of_host = self.places.iter().filter(|place| matches!(place.kind, places::Kind::Root(_)));
        let mut targets = of_host.map(|place| &place.target);
        !targets.any(|target| self.patterns.may_take(target))
    }

    /// Scans the directories. An unreadable directory is covered as a whole if a rule may match something in it. Blocks
    /// while it scans.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded or a path cannot be read.
    pub fn resolve(&self) -> Result<Resolved, PathRuleError> {
        let mut walk = Walk::new(&self.patterns, &self.places, &self.links);
        walk.run()?;
        Ok(walk.resolved())
    }
}
