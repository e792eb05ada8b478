//! The profiles that are in force now. Whoever decides takes them anew for each decision; nobody waits.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Profiles, ResolvedProfile};

/// The profiles in force. Cheap to clone; all clones see the same ones.
#[derive(Debug, Clone)]
pub struct LiveProfiles(Arc<RwLock<Arc<Profiles>>>);

impl LiveProfiles {
    /// Puts these into force.
    #[must_use]
    pub fn new(profiles: Profiles) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(profiles))))
    }

    /// All of them, as they are now.
    #[must_use]
    pub fn now(&self) -> Arc<Profiles> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The profile of this name, as it is now.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ResolvedProfile>> {
        self.now().get(name).cloned()
    }

    pub(crate) fn replace(&self, profiles: Profiles) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(profiles);
    }
}
