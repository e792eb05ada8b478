//! All profiles of a server, and the active ones. Each decision reads the active profiles again. Readers do not wait.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use airlock_domain::{Bind, NetworkRules, PortRange};

use super::{
    chain,
    folder::{self, ProfilesError},
    network::ProfileNetwork,
    parse::effective_network,
    resolve::{ByName, ResolvedProfile},
};

/// The built-in profile that can have a network.
const WITH_NETWORK: &str = "agent";

/// All profiles by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    pub(super) by_name: ByName,
    /// The names of the hooks that profiles can select.
    pub(super) hooks: Vec<String>,
}

/// The settings of the built-in profiles. Profiles that extend them inherit the settings.
#[derive(Debug, Clone, Default)]
pub struct BuiltInSettings {
    /// Whether approvers may answer their own requests.
    pub self_approval: bool,
    /// A root file system, as in `sandbox.rootfs`.
    pub rootfs: Option<String>,
    /// Further binds, as in `sandbox.root_binds`.
    pub root_binds: Vec<Bind>,
    /// The rules of the key `network` of the profile [`WITH_NETWORK`]. The other profiles have no network.
    pub network: NetworkRules,
    /// The key `port_forward` of the profile [`WITH_NETWORK`]. The other profiles forward no port.
    pub port_forward: Vec<PortRange>,
    /// The maximum timeout. `None`: that of the built-in profiles.
    pub timeout_max: Option<Duration>,
    /// The names of the hooks in the server's configuration. The built-in profiles use none; profiles in files can
    /// select them.
    pub hooks: Vec<String>,
}

impl Profiles {
    /// Returns the built-in profiles.
    #[must_use]
    pub fn builtin() -> Self {
        let by_name = airlock_policy::Profile::builtin_names()
            .iter()
            .filter_map(|name| airlock_policy::Profile::builtin(name))
            .map(|policy| (policy.name().to_owned(), Arc::new(ResolvedProfile::builtin(policy))))
            .collect();
        Self { by_name, hooks: Vec::new() }
    }

    /// Loads the built-in profiles and, if `folder` is set, its `NAME.toml` files. Blocks.
    ///
    /// # Errors
    /// Returns all problems with file, line and remedy.
    pub fn load(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin(), folder)
    }

    /// Returns the built-in profiles with these settings.
    #[must_use]
    pub fn builtin_with(settings: &BuiltInSettings) -> Self {
        let mut builtin = Self { hooks: settings.hooks.clone(), ..Self::builtin() };
        for profile in builtin.by_name.values_mut().map(Arc::make_mut) {
            profile.self_approval |= settings.self_approval;
            if settings.rootfs.is_some() {
                profile.sandbox.rootfs.clone_from(&settings.rootfs);
            }
            profile.sandbox.root_binds.extend(settings.root_binds.iter().cloned());
            if profile.name() == WITH_NETWORK {
                profile.own_network.rules.clone_from(&settings.network);
                let rules = effective_network(&profile.own_network, profile.policy.rules());
                profile.network = ProfileNetwork::new(rules);
                profile.port_forward.clone_from(&settings.port_forward);
            }
            profile.timeout_max = settings.timeout_max.unwrap_or(profile.timeout_max);
            profile.command.timeout = profile.command.timeout.min(profile.timeout_max);
        }
        builtin
    }

    /// Like [`Profiles::load`], with these settings of the built-in profiles.
    ///
    /// # Errors
    /// See [`Profiles::load`].
    pub fn load_with(settings: &BuiltInSettings, folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin_with(settings), folder)
    }

    fn load_over(mut profiles: Self, folder: Option<&Path>) -> Result<Self, ProfilesError> {
        if let Some(folder) = folder {
            let base = (&profiles.by_name, profiles.hooks.as_slice());
            let resolved = chain::resolve_all(&folder::read(folder)?, base, &ByName::new());
            if !resolved.refused.is_empty() {
                return Err(ProfilesError::Refused(resolved.refused.into_values().collect()));
            }
            profiles.by_name.extend(resolved.profiles);
        }
        Ok(profiles)
    }

    /// Returns the profile with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ResolvedProfile>> {
        self.by_name.get(name)
    }

    /// Returns the names of all profiles in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Returns the longest time between SIGTERM and SIGKILL in any profile.
    #[must_use]
    pub fn longest_grace(&self) -> Duration {
        let graces = self.by_name.values().map(|profile| profile.sandbox.limits.grace);
        graces.max().unwrap_or_default()
    }

    /// Returns warnings about rules that are too broad, each with its profile.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().flat_map(|(name, profile)| {
            profile.policy.warnings().iter().map(move |warning| (name.as_str(), warning.as_str()))
        })
    }
}

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
pub struct Needed(Arc<RwLock<BTreeSet<String>>>);

impl Needed {
    /// Creates the set with these names.
    #[must_use]
    pub fn new(names: BTreeSet<String>) -> Self {
        Self(Arc::new(RwLock::new(names)))
    }

    pub(super) fn now(&self) -> BTreeSet<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the names.
    pub fn replace(&self, names: BTreeSet<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = names;
    }
}
