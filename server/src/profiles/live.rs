//! The active profiles. Each decision reads them again. Readers do not wait.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use super::{resolve::ResolvedProfile, set::Profiles};

/// The active profiles. Cheap to clone; all clones share the same state.
#[derive(Debug, Clone)]
pub struct LiveProfiles(Arc<RwLock<Arc<Profiles>>>);

impl LiveProfiles {
    /// Activates these profiles.
    #[must_use]
    pub fn new(profiles: Profiles) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(profiles))))
    }

    /// Returns all active profiles.
    #[must_use]
    pub fn now(&self) -> Arc<Profiles> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the active profile with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ResolvedProfile>> {
        self.now().get(name).cloned()
    }

    pub(crate) fn replace(&self, profiles: Profiles) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(profiles);
    }
}

/// The names of the profiles that the configuration and its identities use. If their files are removed, the
/// last version stays active. Cheap to clone; all clones share the same state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needed(Arc<RwLock<BTreeSet<String>>>);

impl Needed {
    pub(crate) fn new(names: BTreeSet<String>) -> Self {
        Self(Arc::new(RwLock::new(names)))
    }

    pub(super) fn now(&self) -> BTreeSet<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, names: BTreeSet<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = names;
    }
}
