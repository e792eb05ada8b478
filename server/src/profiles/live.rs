//! The profiles that are in force now. Whoever decides takes them anew for each decision; nobody waits.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

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

/// The names of the profiles that the configuration and its identities use. Their last version stays in force when
/// their files are removed. Cheap to clone; all clones see the same names.
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
