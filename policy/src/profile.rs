//! Profiles: rules, the modes they permit, and what they leave to the sandbox.
//! This module holds them and makes the built-in ones; [`load`] reads TOML, [`chain`]
//! follows `extends`, [`case`] tries them. It opens no file: who has one passes its text.

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

/// Raised whenever the engine changes what is decided; its tables are hashed as well.
const ENGINE_VERSION: &str = concat!("airlock-policy ", env!("CARGO_PKG_VERSION"), " engine 3");

/// A resolved profile, as far as the policy is concerned.
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
    /// The built-in profile of that name: `strict`, `agent`, `sandboxed`, `demo`, `read_only`.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        builtin::profile(name)
    }

    /// The names [`Profile::builtin`] knows.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        builtin::NAMES
    }

    /// A profile without rules, which permits every mode but `bypass`.
    #[must_use]
    pub fn blank(name: &str) -> Self {
        builtin::blank(name, "").seal()
    }

    /// Reads a profile and runs its test cases. `lookup_parent` finds the profile that
    /// `extends` names; where it answers `None`, the built-in ones are tried. Top-level
    /// tables other than `[policy]` belong to others and are not looked at.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with place, key and cure; where nothing is, every
    /// case of its own that it fails.
    pub fn from_toml(
        text: &str,
        file_name: &str,
        lookup_parent: &dyn Fn(&str) -> Option<Self>,
    ) -> Result<Self, ProfileError> {
        let (profile, cases) = load::read(text, file_name, lookup_parent)?;
        Case::run_all(&cases, &profile, file_name).map(|()| profile)
    }

    /// Reads a profile and follows `extends` as far as it goes. `lookup` finds the text
    /// of a parent by name; where it answers `None`, the built-in ones are tried. The
    /// parents' cases are run, the profile's own are handed out unrun.
    ///
    /// # Errors
    ///
    /// As [`Profile::from_toml`], for the file or for a parent of it; and a chain that is
    /// too long or runs in a circle.
    pub fn resolve(
        own: &ProfileText,
        lookup: &dyn Fn(&str) -> Option<ProfileText>,
    ) -> Result<(Self, Vec<Case>), ProfileError> {
        chain::resolve(own, lookup)
    }

    /// This profile with more rules that allow, behind its own. What its rules deny or ask about stays so, and it is
    /// another version.
    #[must_use]
    pub fn with_allowed(&self, rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut profile = self.clone();
        profile.rules.allow.extend(rules);
        profile.seal()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, in its author's words.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The modes it permits.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// The mode where neither session nor request names one.
    #[must_use]
    pub fn default_mode(&self) -> Mode {
        self.default_mode
    }

    /// Its rules, parents' first.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Rules that are evaluated and reported but do not decide.
    #[must_use]
    pub fn shadow(&self) -> &Rules {
        &self.shadow
    }

    /// Whether what is sandboxed runs without asking.
    #[must_use]
    pub fn auto_allow(&self) -> bool {
        self.auto_allow
    }

    /// Whether what stays inside the sandbox runs without asking, but for what deny and ask rules may name and
    /// what destroys a person's work.
    #[must_use]
    pub fn allow_confined(&self) -> bool {
        self.allow_confined
    }

    /// Whether runs outside the sandbox may be asked for.
    #[must_use]
    pub fn allow_unsandboxed(&self) -> bool {
        self.allow_unsandboxed
    }

    /// Whether such runs go on without asking, where neither git nor a path
    /// outside is involved.
    #[must_use]
    pub fn unsandboxed_without_asking(&self) -> bool {
        self.unsandboxed_without_asking
    }

    /// The first words of commands that ask to run outside the sandbox by being what they are.
    #[must_use]
    pub fn excluded_commands(&self) -> &[String] {
        &self.excluded_commands
    }

    /// Directories that count as inside, beside the workspace.
    #[must_use]
    pub fn additional_directories(&self) -> &[String] {
        &self.additional_directories
    }

    /// What commands in the sandbox may read without a question, beside what the sandbox always shows:
    /// absolute paths, as the sandbox sees them. The sandbox shows what the runner's floor permits of it.
    #[must_use]
    pub fn readable_roots(&self) -> &[String] {
        &self.readable_roots
    }

    /// This profile with more readable roots: absolute paths. It is another version.
    #[must_use]
    pub fn with_readable_roots(&self, roots: impl IntoIterator<Item = String>) -> Self {
        let mut profile = self.clone();
        profile.readable_roots.extend(roots);
        profile.seal()
    }

    /// What every profile may read of the sandbox's root without a question: absolute paths, with
    /// all below them.
    pub fn readable_base() -> impl Iterator<Item = &'static str> {
        crate::tables::names::base()
    }

    /// Remarks on over-broad rules, for whoever loads the profile.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Hash of the resolved rules and of the engine's version.
    #[must_use]
    pub fn policy_version(&self) -> PolicyVersion {
        self.version
    }

    /// Computes what follows from the other fields.
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
