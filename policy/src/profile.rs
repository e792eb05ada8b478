//! Profiles: rules, permitted modes, and the cases that the sandbox alone decides. [`builtin`] creates the built-in
//! profiles, [`load`] reads TOML, [`chain`] follows `extends`, [`run_cases`] runs test cases. No module opens a file;
//! callers pass the text.

pub(crate) mod breadth;
mod builtin;
mod case;
mod chain;
mod load;
mod problem;
mod resolved;
mod run_cases;

pub use case::Case;
pub use chain::ProfileText;
pub use problem::{ProfileError, ProfileProblem};
pub use resolved::Profile;

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
        chain::resolve(own, lookup)
    }
}

#[cfg(test)]
mod tests;
