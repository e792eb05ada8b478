//! Profiles: the policy part, which `airlock_policy` reads, with the part that sandboxes, limits and
//! approvals are built from. Built-in ones, and those of the operator's folder.
//!
//! Files are read at start by [`Profiles::load`], and again by [`Reload`] when they change.

mod chain;
mod folder;
mod live;
mod parse;
mod reload;
mod resolve;
mod schema;
mod single;
mod visible;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airlock_proto::domain::Mode;

use crate::config;

pub use live::LiveProfiles;
pub(crate) use live::Needed;
pub(crate) use reload::Reload;
pub use resolve::ResolvedProfile;
pub use single::read_one;
pub(crate) use visible::default_of;

type ByName = BTreeMap<String, Arc<ResolvedProfile>>;

/// Why profiles could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ProfilesError {
    /// The folder cannot be listed.
    #[error("the profile folder `{}` cannot be read: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There are too many files.
    #[error("`{}` has more than {limit} {what}", path.display())]
    TooMuch {
        /// The folder.
        path: PathBuf,
        /// At most so many.
        limit: u64,
        /// Of what.
        what: &'static str,
    },
    /// Files cannot be read, or say what no profile says: everything that is wrong with each.
    #[error("{}", lines(.0))]
    Refused(Vec<airlock_config::ConfigError>),
}

fn lines(errors: &[airlock_config::ConfigError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Every profile there is, by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    by_name: ByName,
}

impl Profiles {
    /// The built-in profiles alone.
    #[must_use]
    pub fn builtin() -> Self {
        let by_name = airlock_policy::Profile::builtin_names()
            .iter()
            .filter_map(|name| airlock_policy::Profile::builtin(name))
            .map(|policy| (policy.name().to_owned(), Arc::new(ResolvedProfile::builtin(policy))))
            .collect();
        Self { by_name }
    }

    /// The built-in profiles and, where `folder` is given, its `NAME.toml` files. Reads files: blocks.
    ///
    /// # Errors
    /// Everything that is wrong, with file, line and cure.
    pub fn load(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin(), folder)
    }

    /// The built-in profiles, where they let people approve what they asked for themselves.
    #[must_use]
    pub fn builtin_with_self_approval() -> Self {
        let mut builtin = Self::builtin();
        for profile in builtin.by_name.values_mut() {
            Arc::make_mut(profile).self_approval = true;
        }
        builtin
    }

    /// The built-in profiles, as a configuration wants them.
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
            profile.timeout_default = profile.timeout_default.min(profile.timeout_max);
        }
        builtin
    }

    /// As [`Profiles::load`], of the folder that a configuration names and with the built-in profiles that it wants.
    ///
    /// # Errors
    /// As [`Profiles::load`].
    pub fn load_for(config: &config::Profiles) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin_for(config), config.directory.as_deref())
    }

    /// As [`Profiles::load`], where the built-in profiles let people approve what they asked for
    /// themselves.
    ///
    /// # Errors
    /// As [`Profiles::load`].
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

    /// The profile of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ResolvedProfile>> {
        self.by_name.get(name)
    }

    /// Every profile's name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The longest time that any profile gives commands between SIGTERM and SIGKILL.
    #[must_use]
    pub fn longest_grace(&self) -> Duration {
        let graces = self.by_name.values().map(|profile| profile.sandbox.limits.grace);
        graces.max().unwrap_or_default()
    }

    /// Remarks on rules that are too broad, each with its profile, for the operator.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().flat_map(|(name, profile)| {
            profile.policy.warnings().iter().map(move |warning| (name.as_str(), warning.as_str()))
        })
    }
}

/// A profile file as it was read: its name without `.toml`, its path for messages, its text.
struct ProfileFile {
    stem: String,
    path: String,
    text: String,
}

/// The policy's name for a mode of the contract.
#[must_use]
pub(crate) fn policy_mode(mode: Mode) -> airlock_policy::Mode {
    match mode {
        Mode::Bypass => airlock_policy::Mode::Bypass,
        Mode::AcceptEdits => airlock_policy::Mode::AcceptEdits,
        Mode::Default => airlock_policy::Mode::Default,
        Mode::Plan => airlock_policy::Mode::Plan,
    }
}

#[cfg(test)]
mod tests;
