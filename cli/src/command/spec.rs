//! The options that describe a command, shared by `run` and `start`.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, time::Duration};

use clap::Args;

use super::{
    Failure,
    args::{self, Mode, OnAsk, Shell},
    network::Narrowing,
    place,
};
use airlock_client::v1;

/// A command and its options.
#[derive(Debug, Args)]
pub(super) struct Spec {
    /// The session to run in [default: a temporary session for this command]
    #[arg(short, long, value_name = "ID", value_parser = args::session, conflicts_with_all = ["profile", "base"])]
    session: Option<String>,
    /// The profile of the temporary session [default: the identity's]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The base to copy the workspace from; with `run --local` a directory.
    #[arg(long, value_name = "NAME")]
    pub(super) base: Option<OsString>,
    /// A stricter mode than the session's; the strictest is plan: only commands that are proven read-only.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// The shell that reads the command. A zsh command is never proven read-only
    /// [default: the session's]
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// The timeout, such as 30s or 5m [default: 2m; with --background the profile's maximum]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// End the command after this time without output.
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    idle_timeout: Option<Duration>,
    /// Run in the background: print the ID, and let the session's next command start.
    #[arg(short, long)]
    pub(super) background: bool,
    /// Send the command to the background after this time, unless it begins with `sleep`.
    #[arg(long, value_name = "TIME", value_parser = args::duration, conflicts_with = "background")]
    yield_after: Option<Duration>,
    /// Set a variable; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = clap::builder::OsStringValueParser::new())]
    env: Vec<OsString>,
    /// Keep standard error separate, instead of one stream in the order of the writes.
    #[arg(long)]
    pub(super) separate_stderr: bool,
    /// The action if policy asks for an approval.
    #[arg(long, value_enum, default_value = "fail", conflicts_with = "wait_approval")]
    on_ask: OnAsk,
    /// Same as --on-ask wait.
    #[arg(long)]
    wait_approval: bool,
    /// The purpose of the command, in a few words; approvers see it.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// Add a label; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair)]
    label: Vec<(String, String)>,
    /// Without a session, require a label of the runner; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair, conflicts_with = "session")]
    runner_label: Vec<(String, String)>,
    /// The key with which a repeated start returns the first execution [default: a new key]
    #[arg(long, value_name = "KEY", default_value = "", hide_default_value = true)]
    request_id: String,
    /// Do not wait for the session's other commands, and do not change its working directory.
    #[arg(long)]
    allow_concurrent: bool,
    /// Run outside the sandbox, if profile and runner permit it. This normally needs an approval.
    #[arg(long)]
    dangerously_disable_sandbox: bool,
    /// The bytes of each stream that the result contains in full, as text [default: the profile's; at most
    /// 150000]
    #[arg(long, value_name = "BYTES", value_parser = args::count::<u32>)]
    inline_limit: Option<u32>,
    /// The umask of the command, in octal, such as 027 [default: the profile's]
    #[arg(long, value_name = "MASK", value_parser = args::umask)]
    umask: Option<String>,
    #[command(flatten)]
    network: Narrowing,
    /// The command.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Spec {
    /// Returns the value of `--base` as a base name for a server.
    pub(super) fn base_name(&self) -> Result<Option<String>, Failure> {
        let base = self.base.clone().map(OsString::into_string).transpose();
        base.map_err(|_| Failure::usage("--base is not UTF-8"))
    }

    /// Converts the options to their wire form, with `base` as the base of the workspace.
    pub(super) fn wire(self, base: Option<String>) -> Result<v1::ExecutionSpec, Failure> {
        if let Some(id) = self.command.first().and_then(|word| place::session_id(word.as_bytes())) {
            return Err(Failure::usage(format!(
                "`{id}` is a session ID, not a command; to select the session, use: --session {id} -- 'COMMAND'"
            )));
        }
        let wait = self.wait_approval || self.on_ask == OnAsk::Wait;
        let on_ask = if wait { v1::OnAsk::Wait } else { v1::OnAsk::Fail };
        let spec = v1::ExecutionSpec {
            dangerously_disable_sandbox: self.dangerously_disable_sandbox,
            shell: self.shell.map(v1::Shell::from).unwrap_or_default().into(),
            session_id: self.session.unwrap_or_default(),
            request_id: self.request_id,
            timeout: args::wire_duration(self.timeout),
            idle_timeout: args::wire_duration(self.idle_timeout),
            background: self.background,
            yield_after: args::wire_duration(self.yield_after),
            description: self.description,
            on_ask: on_ask.into(),
            mode: self.mode.map(v1::Mode::from).unwrap_or_default().into(),
            separate_stderr: self.separate_stderr,
            profile: self.profile.unwrap_or_default(),
            allow_concurrent: self.allow_concurrent,
            labels: self.label.into_iter().collect(),
            runner_labels: self.runner_label.into_iter().collect(),
            base: base.unwrap_or_default(),
            inline_limit: self.inline_limit.unwrap_or(0),
            umask: self.umask.unwrap_or_default(),
            network: self.network.rules(),
            ..v1::ExecutionSpec::default()
        };
        Ok(spec.with_command(args::command_text(self.command)).with_env(args::variables(&self.env)?))
    }
}
