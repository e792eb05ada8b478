//! All profiles of a server.

use std::{path::Path, sync::Arc, time::Duration};

use super::{
    chain,
    error::ProfilesError,
    folder,
    resolve::{ByName, ResolvedProfile},
};
use crate::config;

/// All profiles by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    pub(super) by_name: ByName,
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
        Self { by_name }
    }

    /// Loads the built-in profiles and, if `folder` is set, its `NAME.toml` files. Blocks.
    ///
    /// # Errors
    /// Returns all problems with file, line and remedy.
    pub fn load(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin(), folder)
    }

    /// Returns the built-in profiles with self-approval.
    #[must_use]
    pub fn builtin_with_self_approval() -> Self {
        let mut builtin = Self::builtin();
        for profile in builtin.by_name.values_mut() {
            Arc::make_mut(profile).self_approval = true;
        }
        builtin
    }

    /// Returns the built-in profiles with the settings of a configuration.
    #[must_use]
    pub fn builtin_for(config: &config::Profiles) -> Self {
        let mut builtin =
            if config.self_approval { Self::builtin_with_self_approval() } else { Self::builtin() };
        let ground = &config.ground;
        for profile in builtin.by_name.values_mut().map(Arc::make_mut) {
            if ground.rootfs.is_some() {
                profile.sandbox.rootfs.clone_from(&ground.rootfs);
            }
            profile.sandbox.root_binds.extend(ground.root_binds.iter().cloned());
            profile.timeout_max = ground.timeout_max.unwrap_or(profile.timeout_max);
            profile.command.timeout = profile.command.timeout.min(profile.timeout_max);
        }
        builtin
    }

    /// Like [`Profiles::load`], with the directory and the built-in profiles of a configuration.
    ///
    /// # Errors
    /// See [`Profiles::load`].
    pub fn load_for(config: &config::Profiles) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin_for(config), config.directory.as_deref())
    }

    /// Like [`Profiles::load`], with self-approval in the built-in profiles.
    ///
    /// # Errors
    /// See [`Profiles::load`].
    pub fn load_with_self_approval(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin_with_self_approval(), folder)
    }

    fn load_over(mut profiles: Self, folder: Option<&Path>) -> Result<Self, ProfilesError> {
        if let Some(folder) = folder {
            let resolved = chain::resolve_all(&folder::read(folder)?, &profiles.by_name, &ByName::new());
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
