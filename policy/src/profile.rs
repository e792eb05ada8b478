//! Profiles: rules, permitted modes, and the cases that the sandbox alone decides. This module holds profiles and
//! creates the built-in ones. [`load`] reads TOML, [`chain`] follows `extends`, [`case`] runs test cases. It opens
//! no file; callers pass the text.

pub(crate) mod builtin;
mod case;
mod chain;
mod load;
mod problem;

use sha2::{Digest, Sha256};

use crate::decision::PolicyVersion;
use crate::request::Mode;
use crate::rules::{Rule, Rules};

pub use case::Case;
pub use chain::ProfileText;
pub use problem::{ProfileError, ProfileProblem};

/// The version of the engine. Change it whenever the engine decides differently. The tables are hashed separately.
const ENGINE_VERSION: &str = concat!("airlock-policy ", env!("CARGO_PKG_VERSION"), " engine 3");

/// A resolved profile, as far as the policy uses it.
#[derive(Debug, Clone)]
pub struct Profile {
    name: String,
    description: String,
    modes: Vec<Mode>,
    default_mode: Mode,
    rules: Rules,
    shadow: Rules,
    auto_allow: bool,
    allow_confined: bool,
    allow_unsandboxed: bool,
    unsandboxed_without_asking: bool,
    excluded_commands: Vec<String>,
    additional_directories: Vec<String>,
    readable_roots: Vec<String>,
    warnings: Vec<String>,
    version: PolicyVersion,
}

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

    /// Returns this profile with additional allow rules after its own. Its deny and ask rules still take precedence.
    /// The result has another version.
    #[must_use]
    pub fn with_allowed(&self, rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut profile = self.clone();
        profile.rules.allow.extend(rules);
        profile.seal()
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the author's description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the permitted modes.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Returns the mode for sessions and requests that name none.
    #[must_use]
    pub fn default_mode(&self) -> Mode {
        self.default_mode
    }

    /// Returns the rules, those of parents first.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the rules that are evaluated and reported but do not decide.
    #[must_use]
    pub fn shadow(&self) -> &Rules {
        &self.shadow
    }

    /// Reports whether sandboxed commands run without asking.
    #[must_use]
    pub fn auto_allow(&self) -> bool {
        self.auto_allow
    }

    /// Reports whether commands that stay inside the sandbox run without asking. Exceptions are commands that deny
    /// or ask rules may match, and commands that destroy a person's work.
    #[must_use]
    pub fn allow_confined(&self) -> bool {
        self.allow_confined
    }

    /// Reports whether a request may ask to run outside the sandbox.
    #[must_use]
    pub fn allow_unsandboxed(&self) -> bool {
        self.allow_unsandboxed
    }

    /// Reports whether such runs need no approval if they involve neither git nor a path outside.
    #[must_use]
    pub fn unsandboxed_without_asking(&self) -> bool {
        self.unsandboxed_without_asking
    }

    /// Returns the first words of commands that always request to run outside the sandbox.
    #[must_use]
    pub fn excluded_commands(&self) -> &[String] {
        &self.excluded_commands
    }

    /// Returns the directories that count as inside in addition to the workspace.
    #[must_use]
    pub fn additional_directories(&self) -> &[String] {
        &self.additional_directories
    }

    /// Returns the absolute paths, as seen in the sandbox, that sandboxed commands may read without a question in
    /// addition to the base. The sandbox shows those that the runner's floor permits.
    #[must_use]
    pub fn readable_roots(&self) -> &[String] {
        &self.readable_roots
    }

    /// Returns this profile with additional readable roots, which are absolute paths. The result has another
    /// version.
    #[must_use]
    pub fn with_readable_roots(&self, roots: impl IntoIterator<Item = String>) -> Self {
        let mut profile = self.clone();
        profile.readable_roots.extend(roots);
        profile.seal()
    }

    /// Returns the absolute paths in the sandbox's root that every profile may read without a question, with
    /// everything below them.
    pub fn readable_base() -> impl Iterator<Item = &'static str> {
        crate::tables::names::base()
    }

    /// Returns warnings about over-broad rules.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the hash of the resolved rules and the engine's version.
    #[must_use]
    pub fn policy_version(&self) -> PolicyVersion {
        self.version
    }

    /// Computes the fields that depend on others.
    fn seal(mut self) -> Self {
        self.warnings = builtin::over_broad(&self.rules);
        self.version = self.hash();
        self
    }

    fn hash(&self) -> PolicyVersion {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(ENGINE_VERSION);
        field(&hex::encode(crate::tables::digest()));
        for variable in airlock_variables::VARIABLES {
            field(&format!("{} {:?} {}", variable.name, variable.effect, variable.overridden));
        }
        field(&self.name);
        for (label, rules) in [("rules", &self.rules), ("shadow", &self.shadow)] {
            for (kind, list) in [("allow", &rules.allow), ("ask", &rules.ask), ("deny", &rules.deny)] {
                field(label);
                field(kind);
                list.iter().map(Rule::text).for_each(&mut field);
            }
        }
        field(&format!("{:?} {:?}", self.modes, self.default_mode));
        field(&format!("{} {} {}", self.auto_allow, self.allow_unsandboxed, self.unsandboxed_without_asking));
        self.additional_directories.iter().for_each(|dir| field(dir));
        field(&format!("confined {}", self.allow_confined));
        field("readable");
        self.readable_roots.iter().for_each(|root| field(root));
        field("excluded");
        self.excluded_commands.iter().for_each(|words| field(words));
        PolicyVersion(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests;
