//! Hooks: services of the user that are asked before an execution and that receive its result.
//!
//! [`Hooks`] is the interface to them. `desk` asks them; `crate::decision` determines the effect of their answers.

mod desk;
mod interface;

use airlock_domain::{ExecutionId, Grant, HookedExecution, Mode};
use airlock_store::record::{ExecutionSpec, SessionRecord};

pub(crate) use desk::HookDesk;
pub use interface::{HookQuestion, HookReply, HookReport, Hooks, NoHooks};

/// Returns the execution as hooks see it. The mode and the grant are those of the decision.
pub(crate) fn hooked(
    id: ExecutionId,
    (session, principal): (&SessionRecord, &str),
    spec: &ExecutionSpec,
    mode: Mode,
    grant: &Grant,
) -> HookedExecution {
    HookedExecution {
        execution_id: id,
        session_id: session.id,
        tenant: session.tenant.clone(),
        principal: principal.to_owned(),
        profile: session.profile.clone(),
        mode,
        command: spec.command.text.clone(),
        shell: spec.command.shell,
        directory: grant.command.directory.clone(),
        description: spec.description.clone(),
        background: spec.background,
        unsandboxed: grant.unsandboxed,
        env_names: spec.command.env.keys().cloned().collect(),
    }
}
