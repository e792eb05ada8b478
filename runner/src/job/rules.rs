//! A profile's path rules, for one launch.
//!
//! The session's folders are gone through with no more rights than its user has.

use airlock_sandbox::{Mask, PathRuleError, Profile, Resolved, RuleScope, Session};

use super::result::Failure;
use crate::files;

/// What path rules come to for this launch: a profile that covers parts of the root, and masks of the
/// session's folders. Blocks for as long as it takes to go through them.
///
/// # Errors
/// A rule cannot be kept.
pub(super) fn resolve(profile: &Profile, session: &Session) -> Result<(Profile, Vec<Mask>), Failure> {
    let owner = session.ids.map(|ids| (ids.uid, ids.gid));
    let Resolved { masks, covers } = match RuleScope::open(&profile.paths, &session.folders, profile)? {
        Some(scope) => files::as_session(owner, || scope.resolve()).map_err(|_| Failure::Rights)??,
        None => Resolved::default(),
    };
    Ok((Profile { covers, ..profile.clone() }, masks))
}

impl From<PathRuleError> for Failure {
    fn from(error: PathRuleError) -> Self {
        Self::PathRules(Box::new(error))
    }
}
