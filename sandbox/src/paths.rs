//! Path rules: resolves globs to the masks of one launch.
//!
//! Reads the current directories through handles, with the rights of its thread. Must not follow a link out of the
//! given directories, and must not create a mask for a missing path.

mod error;
mod pattern;
pub(crate) mod places;
mod walk;

use std::path::PathBuf;

use crate::profile::{PathRules, Profile};
use crate::session::SessionDirectories;

pub use error::{MAX_RULE_DEPTH, MAX_RULE_ENTRIES, PathRuleError};
pub use walk::Resolved;

use pattern::Patterns;
use places::MountedPath;
use walk::Walk;

/// Parsed path rules, with the open directories that they may match.
#[derive(Debug)]
pub struct RuleScope {
    patterns: Patterns,
    places: Vec<MountedPath>,
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
        directories: &SessionDirectories,
        profile: &Profile,
    ) -> Result<Option<Self>, PathRuleError> {
        if *rules == PathRules::default() {
            return Ok(None);
        }
        let patterns = Patterns::new(rules)?;
        let places = places::open(directories, profile)?;
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
