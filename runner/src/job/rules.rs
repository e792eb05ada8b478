//! A profile's path rules, for one launch.
//!
//! The session's folders are gone through with no more rights than its user has. What came of it is kept for
//! as long as nothing can have changed them, and looked for again behind a command's end, when nobody waits.

use std::sync::{Mutex, PoisonError};

use airlock_sandbox::{Mask, PathRuleError, PathRules, Profile, Resolved, RuleScope};

use super::{Job, result::Failure};
use crate::{files, session::OpenSession};

/// What path rules came to for a session.
#[derive(Debug, Default)]
pub(crate) struct KeptRules(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    /// What the folders were then.
    at: u64,
    /// The rules, and what else they are about.
    profile: Profile,
    resolved: Resolved,
}

impl KeptRules {
    fn find(&self, at: u64, profile: &Profile) -> Option<Resolved> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref().filter(|kept| kept.at == at && kept.profile == *profile)?;
        Some(kept.resolved.clone())
    }

    fn keep(&self, at: u64, profile: &Profile, resolved: Resolved) {
        let kept = Kept { at, profile: profile.clone(), resolved };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}

/// What path rules come to for this launch: a profile that covers parts of the root, and masks of the
/// session's folders. `still` is what the folders are, if nothing else can change them. Blocks for as long as it
/// takes to go through them, if it is not known.
///
/// # Errors
/// A rule cannot be kept.
pub(super) fn resolve(
    profile: &Profile,
    open: &OpenSession,
    still: Option<u64>,
) -> Result<(Profile, Vec<Mask>), Failure> {
    let known = still.and_then(|at| open.kept_rules().find(at, profile));
    let Resolved { masks, covers } = match known {
        Some(known) => known,
        None => walk(profile, open)?.0,
    };
    Ok((Profile { covers, ..profile.clone() }, masks))
}

/// And whether it depends on the session's folders alone.
fn walk(profile: &Profile, open: &OpenSession) -> Result<(Resolved, bool), Failure> {
    let Some(scope) = RuleScope::open(&profile.paths, open.folders(), profile)? else {
        return Ok((Resolved::default(), true));
    };
    let resolved = files::as_session(open.owner(), || scope.resolve()).map_err(|_| Failure::Rights)??;
    Ok((resolved, scope.is_of_session()))
}

/// Behind a command's end, for the next one: goes through the folders if nothing can change them meanwhile. What
/// cannot be kept is found by the launch that needs it. Blocks for as long as that takes.
pub(super) fn look_ahead(job: &Job) {
    let open = &job.session;
    let (true, Some(_token)) = (job.profile.paths != PathRules::default(), open.file_work()) else { return };
    let still = || open.guard().workspace.still();
    let Some(at) = still() else { return };
    if open.kept_rules().find(at, &job.profile).is_some() {
        return;
    }
    if let Ok((resolved, true)) = walk(&job.profile, open)
        && still() == Some(at)
    {
        open.kept_rules().keep(at, &job.profile, resolved);
    }
}

impl From<PathRuleError> for Failure {
    fn from(error: PathRuleError) -> Self {
        Self::PathRules(Box::new(error))
    }
}
