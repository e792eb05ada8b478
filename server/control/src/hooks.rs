//! Hooks: services of the user that are asked before an execution and that receive its result.
//!
//! [`Hooks`] is the interface to them. `desk` asks them; `crate::decision` determines the effect of their answers.

mod desk;
mod interface;

use airlock_domain::{ExecutionId, HookedExecution, Mode};
use airlock_store::record::{ExecutionSpec, SessionRecord};

pub(crate) use desk::HookDesk;
pub use interface::{HookQuestion, HookReply, HookReport, Hooks, NoHooks};

/// Returns the execution as hooks see it, with this mode and directory. The last argument states whether it runs outside
/// the sandbox.
pub(crate) fn hooked(
    id: ExecutionId,
    (session, principal): (&SessionRecord, &str),
    spec: &ExecutionSpec,
    (mode, directory, unsandboxed): (Mode, &[u8], bool),
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
        directory: directory.to_vec(),
        description: spec.description.clone(),
        background: spec.background,
        unsandboxed,
        env_names: spec.command.env.keys().cloned().collect(),
    }
}
