//! A profile's path rules, resolved for one launch.
//!
//! The session's directories are scanned with the rights of the session's user. The result is reused until the
//! directories can have changed. After a command ends, it is computed again in the background.

use airlock_sandbox::{Mask, PathRuleError, PathRules, Profile, Resolved, RuleScope};

use super::{handle::Job, result::Failure};
use crate::{files, session::OpenSession};

/// Resolves the path rules for this launch: a profile that covers parts of the root, and masks for the session's
/// directories. `still` numbers the state of the directories, if no other process can change them. Blocks while it
/// scans them, unless the result is cached.
///
/// # Errors
/// If a rule cannot be enforced.
pub(super) fn resolve(
    profile: &Profile,
    open: &OpenSession,
    still: Option<u64>,
) -> Result<(Profile, Vec<Mask>), Failure> {
    let known = still.and_then(|at| open.cached_rules().find(at, profile));
    let Resolved { masks, covers } = match known {
        Some(known) => known,
        None => walk(profile, open)?.0,
    };
    Ok((Profile { covers, ..profile.clone() }, masks))
}

/// Resolves the rules. The second value states whether the result depends on the session's directories alone.
fn walk(profile: &Profile, open: &OpenSession) -> Result<(Resolved, bool), Failure> {
    let Some(scope) = RuleScope::open(&profile.paths, open.directories(), profile)? else {
        return Ok((Resolved::default(), true));
    };
    let resolved = files::as_session(open.owner(), || scope.resolve()).map_err(|_| Failure::Rights)??;
    Ok((resolved, scope.is_of_session()))
}

/// Resolves the rules for the next command after one has ended, if nothing can change the directories meanwhile. An
/// error is left to the launch that needs the rules. Blocks while it scans.
pub(super) fn look_ahead(job: &Job) {
    let open = &job.session;
    let (true, Some(_token)) = (job.profile.paths != PathRules::default(), open.file_work()) else { return };
    let still = || open.guard().workspace.still();
    let Some(at) = still() else { return };
    if open.cached_rules().find(at, &job.profile).is_some() {
        return;
    }
    if let Ok((resolved, true)) = walk(&job.profile, open)
        && still() == Some(at)
    {
        open.cached_rules().keep(at, &job.profile, resolved);
    }
}

impl From<PathRuleError> for Failure {
    fn from(error: PathRuleError) -> Self {
        Self::PathRules(Box::new(error))
    }
}
