//! What is to run and how: the options that `run` and `start` share.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, time::Duration};

use clap::Args;

use super::{
    Failure,
    args::{self, Mode, OnAsk, Shell},
    place,
};
use crate::client::v1;

/// A command and its options.
#[derive(Debug, Args)]
pub(super) struct Spec {
    /// The session to run in; without one, a throw-away one.
    #[arg(short, long, value_name = "ID", value_parser = args::session, conflicts_with_all = ["profile", "base"])]
    session: Option<String>,
    /// The profile of the throw-away session [default: the identity's].
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The base folder to copy the workspace from; with `run --local` a folder.
    #[arg(long, value_name = "NAME")]
    pub(super) base: Option<OsString>,
    /// Tighter than the session's mode; plan is the tightest: only what is proven read-only.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// What reads the command; so far only bash is run [default: the session's].
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// Wall time, such as 30s or 5m [default: 2m; with --background the profile's maximum].
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// End it once it has written nothing for so long.
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    idle_timeout: Option<Duration>,
    /// Run it in the background: print its id, and let the session's next command run beside it.
    #[arg(short, long)]
    pub(super) background: bool,
    /// Send it to the background when it has run for so long, unless it begins with `sleep`.
    #[arg(long, value_name = "TIME", value_parser = args::duration, conflicts_with = "background")]
    yield_after: Option<Duration>,
    /// Set a variable; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = clap::builder::OsStringValueParser::new())]
    env: Vec<OsString>,
    /// Keep standard error apart, instead of one stream in true order.
    #[arg(long)]
    pub(super) separate_stderr: bool,
    /// What to do where policy asks for a person.
    #[arg(long, value_enum, default_value = "fail", conflicts_with = "wait_approval")]
    on_ask: OnAsk,
    /// The same as --on-ask wait.
    #[arg(long)]
    wait_approval: bool,
    /// What the command is for, in a few words; shown to whoever approves it.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// A label; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair)]
    label: Vec<(String, String)>,
    /// Without a session: a label that the runner must have; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair, conflicts_with = "session")]
    runner_label: Vec<(String, String)>,
    /// The key that makes a repeated start find the first one [default: a new one].
    #[arg(long, value_name = "KEY", default_value = "", hide_default_value = true)]
    request_id: String,
    /// Do not wait for the session's other commands, and leave its directory alone.
    #[arg(long)]
    allow_concurrent: bool,
    /// Run outside the sandbox, if profile and runner permit it. It is asked about as a rule.
    #[arg(long)]
    dangerously_disable_sandbox: bool,
    /// Bytes of each stream that the result holds whole, as text [default: the profile's; at most 150000].
    #[arg(long, value_name = "BYTES", value_parser = args::count::<u32>)]
    inline_limit: Option<u32>,
    /// The command.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Spec {
    /// The name in `--base`, which a server knows it by.
    pub(super) fn base_name(&self) -> Result<Option<String>, Failure> {
        let base = self.base.clone().map(OsString::into_string).transpose();
        base.map_err(|_| Failure::usage("--base is not UTF-8"))
    }

    /// For the wire, with the workspace copied from `base`.
    pub(super) fn wire(self, base: Option<String>) -> Result<v1::ExecutionSpec, Failure> {
        if let Some(id) = self.command.first().and_then(|word| place::session_id(word.as_bytes())) {
            return Err(Failure::usage(format!(
                "`{id}` stands where the command begins; a session is named with: --session {id} -- 'COMMAND'"
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
            ..v1::ExecutionSpec::default()
        };
        Ok(spec.with_command(args::command_text(self.command)).with_env(args::variables(&self.env)?))
    }
}
