//! Path rules: from globs to the masks of one launch.
//!
//! Looks at the folders as they are now, through handles, with whatever rights its
//! thread has. Must not follow a link out of what it was given, and must not make a
//! mask for a name that is absent.

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

/// The most entries that are looked at for one launch.
pub const MAX_RULE_ENTRIES: usize = 500_000;
/// How deep folders may be nested in what is looked at.
pub const MAX_RULE_DEPTH: usize = 200;

/// Why path rules cannot be kept. One line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathRuleError {
    /// A rule is not one.
    #[error("the path rule `{rule}` {cause}")]
    Rule {
        /// As it was written.
        rule: String,
        /// What is wrong with it.
        cause: String,
    },
    /// What a rule may be about cannot be looked at.
    #[error("path rules: cannot look at `{path}`: {source}", path = path.display())]
    Look {
        /// As it is inside.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A link that a rule is about leads nowhere in the end.
    #[error("path rules: `{path}` leads through more than {most} links", path = path.display(), most = places::MAX_LINKS)]
    Links {
        /// As it is inside.
        path: PathBuf,
    },
    /// There are too many files and folders to look at.
    #[error(
        "path rules: more than {MAX_RULE_ENTRIES} files and folders would have to be looked at; begin globs with a folder"
    )]
    Entries,
    /// Folders are nested too deep.
    #[error("path rules: folders are nested deeper than {MAX_RULE_DEPTH} at `{path}`", path = path.display())]
    Depth {
        /// As it is inside.
        path: PathBuf,
    },
    /// The rules are about too many files and folders.
    #[error("path rules: more than {MAX_MASKS} files and folders are met; name the folders that they are in")]
    Masks,
}

/// What covers a part of the root, which is the host's and read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootCover {
    /// An empty folder without permissions.
    Folder {
        /// Absolute path inside.
        path: PathBuf,
        /// Whether something in it is shown again.
        around: bool,
    },
    /// An empty file without permissions.
    File {
        /// Absolute path inside.
        path: PathBuf,
    },
    /// Something of the host, again.
    Again(Bind),
}

impl RootCover {
    /// Where it is inside.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Folder { path, .. } | Self::File { path } => path,
            Self::Again(bind) => &bind.target,
        }
    }
}

/// What path rules come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// For [`crate::LaunchSpec::masks`].
    pub masks: Vec<Mask>,
    /// For [`Profile::covers`].
    pub covers: Vec<RootCover>,
}

/// Path rules, and what they may be about, open.
#[derive(Debug)]
pub struct RuleScope {
    patterns: Patterns,
    places: Vec<Place>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl RuleScope {
    /// Reads the rules and opens the folders, with the runner's rights. `None` if
    /// there are no rules.
    ///
    /// # Errors
    ///
    /// A rule that is not one, or a folder that cannot be opened.
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

    /// Whether what they come to depends on the session's folders alone, and not on the host's.
    #[must_use]
    pub fn is_of_session(&self) -> bool {
        let of_host = self.places.iter().filter(|place| matches!(place.kind, places::Kind::Root(_)));
        let mut targets = of_host.map(|place| &place.target);
        !targets.any(|target| self.patterns.may_take(target))
    }

    /// Goes through the folders. What cannot be read is covered whole where a rule
    /// may be about something in it. Blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// A limit was met, or something cannot be looked at.
    pub fn resolve(&self) -> Result<Resolved, PathRuleError> {
        let mut walk = Walk::new(&self.patterns, &self.places, &self.links);
        walk.run()?;
        Ok(walk.resolved())
    }
}
