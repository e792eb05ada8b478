//! Values of the records: stored decisions and approvals, and points in time by the store's clock. Plain data. This module
//! reads no clock.

use std::time::Duration;

use airlock_domain::{ApprovalId, BoundFile, ExecutionId, HookAnswer, SessionId, Shell};

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Not answered yet.
    Open,
    /// Allowed once.
    Allowed,
    /// Denied.
    Denied,
    /// Not answered in time.
    Expired,
    /// Its execution ended first.
    Withdrawn,
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Created by the server, or by the runner for a connection.
    pub id: ApprovalId,
    /// The execution that waits for it.
    pub execution_id: ExecutionId,
    /// The session of the execution.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// Its state.
    pub state: ApprovalState,
    /// The hash of the fields that the answer is bound to.
    pub binding: [u8; 32],
    /// The exact command.
    pub command: Vec<u8>,
    /// The shell that reads it.
    pub shell: Shell,
    /// Its working directory.
    pub directory: Vec<u8>,
    /// The agent's description.
    pub description: String,
    /// The decision.
    pub decision: DecisionRecord,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it expires.
    pub expires: Micros,
    /// The approver. Empty while it is open.
    pub decided_by: String,
    /// The approver's reason.
    pub reason: String,
    /// The files that the command would run and that commands of its session can write, with their state when
    /// the approval was created.
    pub files: Vec<BoundFile>,
    /// The other bound fields: an encoded `airlock.v1.ApprovalTerms` with masked secrets. Empty if an older
    /// version created the approval.
    pub terms: Vec<u8>,
    /// The connection of the running command that the approval is about. `None`: it is about the command itself.
    pub connection: Option<AskedConnection>,
}

/// The connection that an approval is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedConnection {
    /// The name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule that asks, such as `Network(example.com)`.
    pub rule: String,
}

/// A stored decision. `verdict` and `read_only` are for the server; `encoded` holds the complete decision,
/// opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// `ALLOW`, `ASK` or `DENY`.
    pub verdict: Verdict,
    /// The code of the deciding reason.
    pub reason_code: String,
    /// The message of the deciding reason.
    pub reason_message: String,
    /// The byte range in the command that the reason refers to, if there is a single one.
    pub reason_span: Option<(u32, u32)>,
    /// Runs on read-only mounts.
    pub read_only: bool,
    /// May run at the same time as other commands of the session.
    pub concurrency_safe: bool,
    /// The version of the rules that decided.
    pub policy_version: Vec<u8>,
    /// The encoded `airlock.v1.Decision`.
    pub encoded: Vec<u8>,
    /// The answers of the hooks that were asked about the execution, in the order of the calls. If the binding has
    /// changed, earlier answers that tighten the verdict stay in the list. Each hook has one answer per binding.
    pub hooks: Vec<HookAnswer>,
}

impl DecisionRecord {
    /// Returns the deciding reason and its span on one line. The span comes first, because a long line is cut
    /// at its end.
    #[must_use]
    pub fn explanation(&self) -> String {
        let place =
            self.reason_span.map(|(start, end)| format!(" (bytes {start} to {end})")).unwrap_or_default();
        let message: String = self
            .reason_message
            .chars()
            .map(
                |letter| {
                    if letter.is_control() { letter.escape_default().to_string() } else { letter.into() }
                },
            )
            .collect();
        format!("{}{place}: {message}", self.reason_code)
    }
}

/// The outcome of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The command may run.
    Allow,
    /// A person must answer.
    Ask,
    /// The command must not run.
    Deny,
}

/// Microseconds since 1970 by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub i64);

impl Micros {
    /// Returns the time after this duration. Saturates at the maximum.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns the duration since an earlier time, or zero if that time is later.
    #[must_use]
    pub fn since(self, then: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(then.0)).unwrap_or(0))
    }
}
