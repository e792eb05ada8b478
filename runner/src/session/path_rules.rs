//! The cached result of a profile's path rules in a session.

use std::sync::{Mutex, PoisonError};

use airlock_sandbox::{Profile, Resolved};

/// The cached result of the path rules of a session.
#[derive(Debug, Default)]
pub(crate) struct CachedRules(Mutex<Option<Entry>>);

#[derive(Debug)]
struct Entry {
    /// The state of the directories at that time.
    at: u64,
    /// The profile that contains the rules.
    profile: Profile,
    resolved: Resolved,
}

impl CachedRules {
    /// Returns the result for this state of the directories and this profile.
    pub(crate) fn find(&self, at: u64, profile: &Profile) -> Option<Resolved> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entry.as_ref().filter(|entry| entry.at == at && entry.profile == *profile)?;
        Some(entry.resolved.clone())
    }

    /// Keeps a result. It replaces the previous one.
    pub(crate) fn keep(&self, at: u64, profile: &Profile, resolved: Resolved) {
        let entry = Entry { at, profile: profile.clone(), resolved };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
    }
}
