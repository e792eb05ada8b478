//! A profile with all inherited settings. Plain data.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{
    CommandSpec, Inspection, Mode, NetworkMode, NetworkRules, PathRules, PortRange, Protect, SandboxLimits,
    SandboxProfile, Shell, Sockets,
    limits::{CONNECTION_WAIT_DEFAULT, INLINE_DEFAULT, TIMEOUT_DEFAULT, TIMEOUT_MAX},
};
use airlock_policy::{Profile, Rule};
use airlock_store::record::RuleScope;

use super::network::ProfileNetwork;

/// The default PATH of commands.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Profiles by name.
pub(super) type ByName = BTreeMap<String, Arc<ResolvedProfile>>;

/// The key `network` of a profile, with the inherited entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnNetwork {
    pub(crate) rules: NetworkRules,
    /// The profile has no network, whatever the rules of its policy allow.
    pub(crate) is_off: bool,
}

/// A profile with all inherited settings.
#[derive(Debug, Clone)]
pub struct ResolvedProfile {
    /// The part for the policy.
    pub policy: Profile,
    /// The settings that the sandbox is built from.
    pub sandbox: SandboxProfile,
    /// The network of commands that may use it, with the rules of the policy about hosts. Rules that allow nothing: none.
    pub network: ProfileNetwork,
    /// The key `network`.
    pub(crate) own_network: OwnNetwork,
    /// The ports of sessions that clients can reach. Empty: none.
    pub port_forward: Vec<PortRange>,
    /// The values of a command's fields that neither session nor request sets. The shell is that of sessions.
    pub command: CommandSpec,
    /// The maximum timeout.
    pub timeout_max: Duration,
    /// Whether an approver may answer the approver's own requests.
    pub self_approval: bool,
    /// The time for which an approval stays open. `None`: the server's limit.
    pub approval_valid: Option<Duration>,
    /// The time for which a connection of a running command waits for an answer.
    pub connection_wait: Duration,
    /// Whether commands may run in the background.
    pub background: bool,
    /// Whether a command may begin with a long `sleep` in the foreground.
    pub foreground_sleep: bool,
    /// The widest scope of remembered rules. `None`: answers cannot be remembered.
    pub remember: Option<RuleScope>,
    /// The hooks that are asked before an execution, in the order of the calls.
    pub hooks: Vec<ProfileHook>,
}

/// A hook that a profile selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileHook {
    /// The name in the server's configuration.
    pub name: String,
    /// Whether a failure of the hook denies the execution.
    pub required: bool,
}

impl ResolvedProfile {
    /// Returns `policy` with a sandbox that has the minimal root and the default limits.
    pub(super) fn builtin(policy: Profile) -> Self {
        let sandbox = SandboxProfile {
            name: policy.name().to_owned(),
            root_binds: Vec::new(),
            network: NetworkMode::Loopback,
            env: BTreeMap::new(),
            path: PATH.to_owned(),
            allowed_env: Vec::new(),
            limits: SandboxLimits::default(),
            rootfs: None,
            paths: PathRules::default(),
            protect: Protect::default(),
            sockets: Sockets::default(),
            pass_env: Vec::new(),
            secrets: Vec::new(),
            shell_init: String::new(),
            shell_prefix: Vec::new(),
            inspection: Inspection::default(),
        };
        Self {
            policy,
            sandbox,
            network: ProfileNetwork::new(NetworkRules::default()),
            own_network: OwnNetwork::default(),
            port_forward: Vec::new(),
            command: CommandSpec {
                shell: Shell::Bash,
                timeout: TIMEOUT_DEFAULT,
                inline_limit: INLINE_DEFAULT,
                ..CommandSpec::default()
            },
            timeout_max: TIMEOUT_MAX,
            self_approval: false,
            approval_valid: None,
            connection_wait: CONNECTION_WAIT_DEFAULT,
            background: true,
            foreground_sleep: true,
            remember: Some(RuleScope::Session),
            hooks: Vec::new(),
        }
    }

    /// Reports whether the other profile has the same rules, sandbox settings and limits.
    #[must_use]
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let limits = |one: &Self| (one.timeout_max, one.approval_valid, one.connection_wait, one.remember);
        let switches = |one: &Self| (one.self_approval, one.background, one.foreground_sleep);
        self.policy.policy_version() == other.policy.policy_version()
            && self.sandbox == other.sandbox
            && self.network == other.network
            && self.port_forward == other.port_forward
            && self.command == other.command
            && self.hooks == other.hooks
            && limits(self) == limits(other)
            && switches(self) == switches(other)
    }

    /// Returns this profile with additional allow rules, which rank after its own rules.
    #[must_use]
    pub fn with_allowed(&self, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { policy: self.policy.with_allowed(rules), ..self.clone() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.policy.name()
    }

    /// Returns the mode if neither session nor request sets one.
    #[must_use]
    pub fn default_mode(&self) -> Mode {
        contract_mode(self.policy.default_mode())
    }

    /// Returns the modes that sessions with this profile may have.
    pub fn modes(&self) -> impl Iterator<Item = Mode> {
        self.policy.modes().iter().copied().map(contract_mode)
    }

    /// Reports whether sessions with this profile may have this mode.
    #[must_use]
    pub fn permits(&self, mode: Mode) -> bool {
        self.policy.modes().contains(&policy_mode(mode))
    }
}

/// Converts a mode of the policy to the contract's type.
fn contract_mode(mode: airlock_policy::Mode) -> Mode {
    match mode {
        airlock_policy::Mode::Bypass => Mode::Bypass,
        airlock_policy::Mode::AcceptEdits => Mode::AcceptEdits,
        airlock_policy::Mode::Default => Mode::Default,
        airlock_policy::Mode::Plan => Mode::Plan,
    }
}

/// Converts a mode of the contract to the policy's type.
#[must_use]
pub(crate) fn policy_mode(mode: Mode) -> airlock_policy::Mode {
    match mode {
        Mode::Bypass => airlock_policy::Mode::Bypass,
        Mode::AcceptEdits => airlock_policy::Mode::AcceptEdits,
        Mode::Default => airlock_policy::Mode::Default,
        Mode::Plan => airlock_policy::Mode::Plan,
    }
}
