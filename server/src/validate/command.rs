//! The wire form of a command's specification, in both directions: a request's fields to a [`CommandSpec`], and
//! a [`CommandSpec`] to the fields of an execution.

use airlock_domain::{CommandSpec, Given, limits};
use airlock_proto::v1;

use super::checker::{Checker, LONGEST};

impl Checker {
    /// Takes the fields of a request that describe the command. Returns the command, and the fields that the
    /// client set.
    pub(super) fn command_spec(&mut self, spec: &mut v1::ExecutionSpec) -> (CommandSpec, Given) {
        let pty = spec.pty.take().map(|pty| self.pty("spec.pty", pty));
        if pty.is_some() && spec.separate_stderr {
            self.bad("spec.separate_stderr", "is not valid with `pty`: a terminal has one stream for both");
        }
        let inline_limit = usize::try_from(spec.inline_limit).unwrap_or(usize::MAX);
        self.at_most("spec.inline_limit", inline_limit, limits::INLINE_MAX);
        let (text, bytes) = (std::mem::take(&mut spec.command), std::mem::take(&mut spec.command_bytes));
        let text = self.command("spec.command", text, bytes);
        let shell = self.shell("spec.shell", spec.shell);
        let timeout = self.duration("spec.timeout", spec.timeout.take(), LONGEST);
        let (env, env_bytes) = (std::mem::take(&mut spec.env), std::mem::take(&mut spec.env_bytes));
        let umask = self.optional_id("spec.umask", &spec.umask);
        let given = Given {
            shell: shell.is_some(),
            timeout: timeout.is_some(),
            inline_limit: spec.inline_limit > 0,
            umask: umask.is_some(),
        };
        let command = CommandSpec {
            text,
            shell: shell.unwrap_or_default(),
            directory: Vec::new(),
            env: self.env("spec.env", env, env_bytes),
            stdin: spec.stdin || pty.is_some(),
            pty,
            separate_stderr: spec.separate_stderr,
            timeout: timeout.unwrap_or_default(),
            idle_timeout: self.duration("spec.idle_timeout", spec.idle_timeout.take(), LONGEST),
            inline_limit: spec.inline_limit,
            umask: umask.unwrap_or_default(),
            network: self.network("spec.network", spec.network.take().as_ref()),
        };
        if command.network.is_some() && spec.dangerously_disable_sandbox {
            self.bad(
                "spec.network",
                "is not valid with `dangerously_disable_sandbox`: outside the sandbox, the network is the host's",
            );
        }
        (command, given)
    }
}

/// Adds the fields of a command to an execution, except its text.
pub(crate) fn show_command(command: CommandSpec, execution: v1::Execution) -> v1::Execution {
    v1::Execution {
        shell: v1::Shell::from(command.shell).into(),
        separate_stderr: command.separate_stderr,
        pty: command.pty.map(Into::into),
        umask: command.umask.to_string(),
        network: command.network.map(Into::into),
        ..execution
    }
    .with_directory(command.directory)
}
