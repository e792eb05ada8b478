//! Who may call, as the configuration says it.

use airlock_proto::domain::RunnerId;
use serde::Deserialize;

use crate::model::Role;

/// One principal: how it is recognised, and what it may do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Its name in executions, approvals and the audit.
    pub name: String,
    /// Whose executions it sees.
    pub tenant: String,
    /// What it may do.
    pub roles: Vec<RoleName>,
    /// The profiles it may use, its default first; empty: only the server's default profile. `*`: every profile, also
    /// those that come later.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// How it is recognised.
    #[serde(rename = "match")]
    pub matches: Match,
    /// With the role `runner`: the runner ids it may speak for; empty: only its own name; `*`: any.
    #[serde(default)]
    pub runner_ids: Vec<String>,
}

/// What is otherwise for one tenant than `limits` has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Whose; as identities name it.
    pub name: String,
    /// Its share of the queue; twice the weight is served twice as often. 1 where none is said.
    #[serde(default = "even")]
    pub weight: u32,
    /// Instead of `limits.executions_per_tenant`.
    pub executions: Option<u64>,
    /// Instead of `limits.queue_per_tenant`.
    pub queue: Option<u64>,
    /// Instead of `limits.sessions_per_tenant`.
    pub sessions: Option<u64>,
    /// Instead of `limits.starts_per_second`.
    pub starts_per_second: Option<u64>,
    /// Instead of `limits.denials_per_second`.
    pub denials_per_second: Option<u64>,
    /// Instead of `limits.output_bytes_per_day`.
    pub output_bytes_per_day: Option<u64>,
}

fn even() -> u32 {
    1
}

/// How an identity is recognised: by exactly one of these.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// The common name of a client certificate.
    CommonName(String),
    /// A DNS name of a client certificate.
    Dns(String),
    /// The SPIFFE id of a client certificate.
    Spiffe(String),
    /// SHA-256 of a bearer token, in hexadecimal.
    TokenSha256(String),
    /// Whoever calls, where `listen.insecure_loopback` is set.
    Loopback,
}

/// A role, as the configuration writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Runs commands.
    Executor,
    /// Answers approvals.
    Approver,
    /// Reads the audit.
    Auditor,
    /// Runs the service.
    Admin,
    /// Is a runner; by certificate only.
    Runner,
    /// Is another server of the same store; by certificate only.
    Server,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Executor => Self::Executor,
            RoleName::Approver => Self::Approver,
            RoleName::Auditor => Self::Auditor,
            RoleName::Admin => Self::Admin,
            RoleName::Runner => Self::Runner,
            RoleName::Server => Self::Server,
        }
    }
}

impl Identity {
    /// Whether it may speak for this runner. The role is checked elsewhere.
    #[must_use]
    pub fn speaks_for(&self, runner: &RunnerId) -> bool {
        if self.runner_ids.is_empty() {
            return self.name == runner.as_str();
        }
        self.runner_ids.iter().any(|id| id == "*" || id == runner.as_str())
    }
}
