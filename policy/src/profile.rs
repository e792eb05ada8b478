//! Profiles: rules, permitted modes, and the cases that the sandbox alone decides. [`builtin`] creates the built-in
//! profiles, [`load`] reads TOML, [`case`] runs test cases. No module opens a file; callers pass the text.

pub(crate) mod breadth;
mod builtin;
mod case;
mod deny;
mod load;
mod network;
mod problem;
mod resolved;

pub use case::Case;
pub use problem::{ProfileError, ProfileProblem};
pub use resolved::Profile;

use crate::limits::MAX_EXTENDS;

impl Profile {
    /// Returns the built-in profile with this name: `strict`, `agent`, `sandboxed`, `demo` or `read_only`.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        builtin::profile(name)
    }

    /// Returns the names that [`Profile::builtin`] accepts.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        builtin::NAMES
    }

    /// Returns a profile without rules that permits every mode except `bypass`.
    #[must_use]
    pub fn blank(name: &str) -> Self {
        builtin::blank(name, "").seal()
    }

    /// Reads a profile and runs its test cases. `lookup_parent` returns the profile that `extends` names; if it
    /// returns `None`, the built-in profiles are searched. Top-level tables other than `[policy]` are ignored.
    ///
    /// # Errors
    ///
    /// Returns every problem with position, key and remedy; if there are none, each of its own test cases that
    /// fails.
    pub fn from_toml(
        text: &str,
        file_name: &str,
        lookup_parent: &dyn Fn(&str) -> Option<Self>,
    ) -> Result<Self, ProfileError> {
        let (profile, cases) = load::read(text, file_name, lookup_parent)?;
        Case::run_all(&cases, &profile, file_name).map(|()| profile)
    }

    /// Reads a profile and all profiles that it extends. `lookup` returns the text of a parent by name; if it
    /// returns `None`, the built-in profiles are searched. The parents' test cases are run; the profile's own are
    /// returned without being run.
    ///
    /// # Errors
    ///
    /// As for [`Profile::from_toml`], for the file or one of its parents; also for a chain that is too long or
    /// circular.
    pub fn resolve(
        own: &ProfileText,
        lookup: &dyn Fn(&str) -> Option<ProfileText>,
    ) -> Result<(Self, Vec<Case>), ProfileError> {
        resolve(own, lookup)
    }
}

/// The text of a profile, and its name in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileText {
    /// The file as the caller names it.
    pub file: String,
    /// The contents.
    pub text: String,
}

/// Follows `extends` to the first ancestor, and reads the profiles in that order. It terminates:
/// cycles are detected, and the length of the chain is bounded.
fn resolve(
    own: &ProfileText,
    lookup: &dyn Fn(&str) -> Option<ProfileText>,
) -> Result<(Profile, Vec<Case>), ProfileError> {
    let mut parent: Option<Profile> = None;
    for ancestor in ancestors(own, lookup)?.iter().rev() {
        let known = |_: &str| parent.clone();
        let (profile, cases) = load::read(&ancestor.text, &ancestor.file, &known)?;
        Case::run_all(&cases, &profile, &ancestor.file)?;
        parent = Some(profile);
    }
    load::read(&own.text, &own.file, &|_| parent.clone())
}

/// Returns the texts of the ancestors, nearest first.
fn ancestors(
    own: &ProfileText,
    lookup: &dyn Fn(&str) -> Option<ProfileText>,
) -> Result<Vec<ProfileText>, ProfileError> {
    let mut found: Vec<ProfileText> = Vec::new();
    loop {
        let last = found.last().unwrap_or(own);
        let Some(next) = load::extends(&last.text).and_then(|name| lookup(&name)) else {
            return Ok(found);
        };
        if next.file == own.file || found.iter().any(|seen| seen.file == next.file) {
            let what = format!("the profiles extend each other in a cycle that contains `{}`", next.file);
            return Err(load::refuse_extends(
                &last.text,
                &last.file,
                what,
                "remove one `extends` of the cycle",
            ));
        }
        if found.len() == MAX_EXTENDS {
            let what = format!("the chain of `extends` has more than {MAX_EXTENDS} profiles");
            return Err(load::refuse_extends(&own.text, &own.file, what, "shorten the chain"));
        }
        found.push(next);
    }
}

#[cfg(test)]
mod tests;
