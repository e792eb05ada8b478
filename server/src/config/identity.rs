//! The identities and tenants in the configuration.

use airlock_domain::RunnerId;
use airlock_store::fair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Role;

/// A principal: how it is recognized, and its permissions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The name in executions, approvals and the audit.
    pub name: String,
    /// Its tenant. It sees the executions of this tenant.
    pub tenant: String,
    /// Its roles.
    pub roles: Vec<RoleName>,
    /// The profiles it may use, with its default first. Empty: only the server's default profile. `*`: every
    /// profile, including future ones.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// The method of recognition.
    #[serde(rename = "match")]
    #[schemars(extend("x-secret" = true))]
    pub matches: Match,
    /// With the role `runner`: the runner IDs it may act for. Empty: only its own name. `*`: any.
    #[serde(default)]
    pub runner_ids: Vec<String>,
}

/// Settings of one tenant that override `limits`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// The name of the tenant, as in identities.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its share of the queue. A tenant with twice the weight is served twice as often. Default: 1.
    #[serde(default = "even")]
    #[schemars(range(min = 1, max = fair::WEIGHT_MOST))]
    pub weight: u32,
    /// Replaces `limits.executions_per_tenant`.
    #[schemars(range(min = 1))]
    pub executions: Option<u64>,
    /// Replaces `limits.queue_per_tenant`.
    #[schemars(range(min = 1))]
    pub queue: Option<u64>,
    /// Replaces `limits.sessions_per_tenant`.
    #[schemars(range(min = 1))]
    pub sessions: Option<u64>,
    /// Replaces `limits.starts_per_second`.
    #[schemars(range(min = 1, max = fair::PER_SECOND_MOST))]
    pub starts_per_second: Option<u64>,
    /// Replaces `limits.denials_per_second`.
    #[schemars(range(min = 1, max = fair::PER_SECOND_MOST))]
    pub denials_per_second: Option<u64>,
    /// Replaces `limits.output_bytes_per_day`.
    #[schemars(range(min = 1))]
    pub output_bytes_per_day: Option<u64>,
}

fn even() -> u32 {
    1
}

/// The method by which an identity is recognized. Exactly one must be set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// The common name of a client certificate.
    CommonName(String),
    /// A DNS name of a client certificate.
    Dns(String),
    /// The SPIFFE ID of a client certificate.
    Spiffe(String),
    /// The SHA-256 of a bearer token, in hexadecimal.
    TokenSha256(String),
    /// Every caller, if `listen.insecure_loopback` is set.
    Loopback,
}

/// A role, as written in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Runs commands.
    Executor,
    /// Answers approvals.
    Approver,
    /// Reads the audit.
    Auditor,
    /// Operates the service.
    Admin,
    /// Is a runner. Only for certificates.
    Runner,
    /// The role of another server of the same store. Only for certificates.
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
    /// Reports whether the identity may act for this runner. The role is checked elsewhere.
    #[must_use]
    pub fn speaks_for(&self, runner: &RunnerId) -> bool {
        if self.runner_ids.is_empty() {
            return self.name == runner.as_str();
        }
        self.runner_ids.iter().any(|id| id == "*" || id == runner.as_str())
    }
}
