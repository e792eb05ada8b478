//! A resolved profile, as far as the policy uses it, and its version.

use airlock_network::Layers;
use sha2::{Digest, Sha256};

use super::breadth::over_broad;
use super::deny::BuiltinDenyRules;
use super::network::Network;
use crate::decision::PolicyVersion;
use crate::request::Mode;
use crate::rules::{Rule, Rules};
use crate::tables::{self, BuiltinDeny, names};

/// The version of the policy's code. Change it whenever the code decides differently. The tables are hashed separately.
const ENGINE_VERSION: &str = concat!("airlock-policy ", env!("CARGO_PKG_VERSION"), " engine 5");

/// A resolved profile, as far as the policy uses it.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) modes: Vec<Mode>,
    pub(super) default_mode: Mode,
    pub(super) rules: Rules,
    pub(super) shadow: Rules,
    pub(super) builtin_deny: BuiltinDenyRules,
    pub(super) auto_allow: bool,
    pub(super) allow_confined: bool,
    pub(super) allow_unsandboxed: bool,
    pub(super) unsandboxed_without_asking: bool,
    pub(super) excluded_commands: Vec<String>,
    pub(super) additional_directories: Vec<String>,
    pub(super) readable_roots: Vec<String>,
    pub(super) network: Network,
    pub(super) warnings: Vec<String>,
    pub(super) version: PolicyVersion,
}

impl Profile {
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

    /// Reports whether such runs need no approval if they involve neither git nor a path outside the workspace.
    #[must_use]
    pub fn unsandboxed_without_asking(&self) -> bool {
        self.unsandboxed_without_asking
    }

    /// Returns the first words of commands that always request to run outside the sandbox.
    #[must_use]
    pub fn excluded_commands(&self) -> &[String] {
        &self.excluded_commands
    }

    /// Returns the directories that policy treats like the workspace.
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

    /// Returns the network rules of the profile, for [`crate::Request::network`]. `None` if an entry is wrong.
    #[must_use]
    pub fn network_layers(&self) -> Option<Layers> {
        self.network.layers(&self.rules)
    }

    /// Returns the absolute paths in the sandbox's root that every profile may read without a question, with
    /// everything below them.
    pub fn readable_base() -> impl Iterator<Item = &'static str> {
        names::base()
    }

    /// Reports whether the built-in deny rule for PowerShell applies.
    pub(crate) fn applies(&self, rule: BuiltinDeny) -> bool {
        self.builtin_deny.applies(rule)
    }

    /// Returns warnings about over-broad rules.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the hash of the resolved rules, the tables and the version of the policy's code.
    #[must_use]
    pub fn policy_version(&self) -> PolicyVersion {
        self.version
    }

    /// Computes the fields that depend on others.
    pub(super) fn seal(mut self) -> Self {
        self.warnings = over_broad(&self.rules);
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
        field(&hex::encode(tables::digest()));
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
        field(&format!("{:?}", self.builtin_deny));
        field("readable");
        self.readable_roots.iter().for_each(|root| field(root));
        field("excluded");
        self.excluded_commands.iter().for_each(|words| field(words));
        PolicyVersion(hash.finalize().into())
    }
}
