//! The interface to hooks, which the crate `airlock-hooks` implements. This module must not use gRPC.

use std::time::Duration;

use airlock_domain::{ExecutionResult, ExecutionState, HookBinding, HookOutcome, HookedExecution};
use airlock_store::record::Micros;

/// A question to a hook about an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookQuestion {
    /// The execution.
    pub execution: HookedExecution,
    /// The decision so far: an encoded `airlock.v1.Decision`.
    pub decision: Vec<u8>,
    /// The hash of the grant. The answer is bound to it.
    pub binding: HookBinding,
    /// ALLOW has an effect.
    pub allow_has_effect: bool,
}

/// The response of a hook, or the failure of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// The outcome.
    pub outcome: HookOutcome,
    /// One line: the hook's reason, or a description of the failure. At most
    /// [`HOOK_REASON_BYTES`](airlock_domain::limits::HOOK_REASON_BYTES).
    pub reason: String,
}

/// The result of an execution, for a hook that was asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The execution.
    pub execution: HookedExecution,
    /// The decision that was in effect: an encoded `airlock.v1.Decision`.
    pub decision: Vec<u8>,
    /// The state of the execution.
    pub state: ExecutionState,
    /// The result.
    pub result: ExecutionResult,
    /// The number of this attempt. Starts with 1.
    pub attempt: u32,
    /// The time at which the execution ended.
    pub finished: Micros,
}

/// The hooks of the server's configuration. A call is bounded in time, and the number of concurrent calls to a hook is
/// limited. The calls of tenants take turns. Dropping a future cancels its call.
#[async_trait::async_trait]
pub trait Hooks: Send + Sync {
    /// Returns the names of the hooks. Default: none.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the longest time for which [`Hooks::before`] waits for this hook. `None`: no hook has this name.
    fn longest_wait(&self, hook: &str) -> Option<Duration>;

    /// Asks a hook about an execution that has not started. Returns within [`Hooks::longest_wait`]. The answer is valid
    /// for the binding of the question: any other answer is the outcome `Invalid`.
    async fn before(&self, hook: &str, question: &HookQuestion) -> HookReply;

    /// Delivers the result of an execution to a hook once. The caller repeats it after an error.
    ///
    /// # Errors
    /// The hook did not confirm the delivery. The outcome is a failure, see [`HookOutcome::is_failure`].
    async fn after(&self, hook: &str, report: &HookReport) -> Result<(), HookReply>;
}

/// No hooks. A profile cannot select one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait::async_trait]
impl Hooks for NoHooks {
    fn longest_wait(&self, _: &str) -> Option<Duration> {
        None
    }

    async fn before(&self, _: &str, _: &HookQuestion) -> HookReply {
        no_hook()
    }

    async fn after(&self, _: &str, _: &HookReport) -> Result<(), HookReply> {
        Err(no_hook())
    }
}

fn no_hook() -> HookReply {
    HookReply { outcome: HookOutcome::Unavailable, reason: "the server has no hooks".to_owned() }
}
