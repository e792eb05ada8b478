//! Profiles: the policy part, which `airlock_policy` reads, with the part that sandboxes, limits and
//! approvals are built from. Built-in ones, and those of the operator's folder.
//!
//! Reading files happens in [`Profiles::load`] alone, at start.

mod parse;
mod resolve;
mod schema;
mod visible;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airlock_proto::domain::Mode;

pub use resolve::ResolvedProfile;
pub(crate) use visible::default_of;

/// Files in the folder.
const FILES: usize = 1000;

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
    /// A file cannot be read, or says what no profile says: everything that is wrong with it.
    #[error(transparent)]
    Refused(#[from] airlock_config::ConfigError),
    /// What the policy says of its part: file, line, what is wrong, and the cure.
    #[error(transparent)]
    Profile(#[from] airlock_policy::ProfileError),
}

/// Every profile there is, by name.
#[derive(Debug, Clone)]
pub struct Profiles {
    by_name: BTreeMap<String, Arc<ResolvedProfile>>,
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
    /// The first thing that is wrong, with file, line and cure.
    pub fn load(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        Self::load_over(Self::builtin(), folder)
    }

    /// As [`Profiles::load`], where the built-in profiles let people approve what they asked for
    /// themselves.
    ///
    /// # Errors
    /// As [`Profiles::load`].
    pub fn load_with_self_approval(folder: Option<&Path>) -> Result<Self, ProfilesError> {
        let mut builtin = Self::builtin();
        for profile in builtin.by_name.values_mut() {
            Arc::make_mut(profile).self_approval = true;
        }
        Self::load_over(builtin, folder)
    }

    fn load_over(mut profiles: Self, folder: Option<&Path>) -> Result<Self, ProfilesError> {
        if let Some(folder) = folder {
            let files = read_folder(folder)?;
            profiles.by_name.extend(parse::resolve_all(&files, &profiles.by_name)?);
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

/// What is wrong with a profile's text by itself, whatever it extends. `file` is what errors call it.
///
/// # Errors
/// Everything that is wrong, with place, key and cure.
pub fn check_text(text: &str, file: &str) -> Result<(), airlock_config::ConfigError> {
    parse::file(text, file).map(drop)
}

fn read_folder(folder: &Path) -> Result<Vec<ProfileFile>, ProfilesError> {
    let unreadable = |source| ProfilesError::Folder { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        if files.len() == FILES {
            return Err(ProfilesError::TooMuch {
                path: folder.to_owned(),
                limit: FILES as u64,
                what: "profiles",
            });
        }
        let text = airlock_config::read(&path)?;
        files.push(ProfileFile { stem: stem.to_owned(), path: path.display().to_string(), text });
    }
    files.sort_by(|a, b| a.stem.cmp(&b.stem));
    Ok(files)
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
