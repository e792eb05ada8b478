//! Conversion of the answers of hooks, and of the execution that a hook is asked about.

use airlock_domain::{HookAnswer, HookedExecution};

use crate::{hooks_v1, twin::split, v1};

impl From<HookAnswer> for v1::HookAnswer {
    fn from(answer: HookAnswer) -> Self {
        Self {
            hook: answer.hook,
            outcome: v1::HookOutcome::from(answer.outcome).into(),
            reason: answer.reason,
            in_effect: answer.in_effect,
            required: answer.required,
        }
    }
}

impl From<HookedExecution> for hooks_v1::HookedExecution {
    fn from(of: HookedExecution) -> Self {
        let (command, command_bytes) = split(of.command);
        let (directory, directory_bytes) = split(of.directory);
        Self {
            execution_id: of.execution_id.to_string(),
            session_id: of.session_id.to_string(),
            tenant: of.tenant,
            principal: of.principal,
            profile: of.profile,
            mode: v1::Mode::from(of.mode).into(),
            command,
            command_bytes,
            shell: v1::Shell::from(of.shell).into(),
            directory,
            directory_bytes,
            description: of.description,
            background: of.background,
            unsandboxed: of.unsandboxed,
            env_names: of.env_names,
        }
    }
}
