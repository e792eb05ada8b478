//! `airlock run`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;

use super::{
    Failure,
    args::{self, Mode, OnAsk, Shell},
    connect::Connect,
    dev,
    follow::{How, follow},
};
use crate::{
    client::{Client, v1},
    render::cause,
};

/// Run a command: live output, and its exit code.
///
/// One word after `--` is the text for the shell, as it is; several words are joined with single spaces,
/// as ssh does, so quotes that the shell inside is to see need quotes of their own. Standard input is
/// closed. Ctrl-C ends the command; a second Ctrl-C leaves without waiting for its end, and says how to come
/// back.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock run -- 'ls -la | head -n 3'\n  airlock run --session 01234567-89ab-7def-8123-456789abcdef --timeout 10m -- make test\n  airlock run --local -- 'seq 1 3'          # no server needed: one of its own for this command\n  airlock run --on-ask wait --description 'Publish the package' -- 'npm publish'\n\nExit codes: the command's own; 128 and the signal's number when a signal ended it; 124 when its time\nwas up; 130 when it was cancelled; 125 when it did not run, with the reason on standard error; 141 when\nnobody reads the output; 1 when it is not known how it ended; 2 for wrong usage."
)]
pub(super) struct Run {
    #[command(flatten)]
    connect: Connect,
    /// The session to run in; without one, a throw-away one.
    #[arg(long, value_name = "ID", conflicts_with_all = ["profile", "base", "local"])]
    session: Option<String>,
    /// The profile of the throw-away session [default: the identity's].
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The base folder to copy the workspace from; with --local a folder.
    #[arg(long, value_name = "NAME")]
    base: Option<OsString>,
    /// Tighter than the session's mode.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// What reads the command [default: the session's].
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// Wall time, such as 30s or 5m [default: 2m].
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// Set a variable; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = clap::builder::OsStringValueParser::new())]
    env: Vec<OsString>,
    /// Keep standard error apart, instead of one stream in true order.
    #[arg(long)]
    separate_stderr: bool,
    /// Print events as JSON lines instead of the output.
    #[arg(long)]
    json: bool,
    /// What to do where policy asks for a person.
    #[arg(long, value_enum, default_value = "fail", conflicts_with = "wait_approval")]
    on_ask: OnAsk,
    /// The same as --on-ask wait.
    #[arg(long)]
    wait_approval: bool,
    /// What the command is for, in a few words; shown to whoever approves it.
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
    /// A label; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair)]
    label: Vec<(String, String)>,
    /// The key that makes a repeated start find the first one [default: a new one].
    #[arg(long, value_name = "KEY", default_value = "")]
    request_id: String,
    /// Do not wait for the session's other commands, and leave its directory alone.
    #[arg(long)]
    allow_concurrent: bool,
    /// End the command when this client goes away without a word.
    #[arg(long)]
    kill_on_disconnect: bool,
    /// Start a server and a runner for this command alone, and remove them after it.
    #[arg(long)]
    local: bool,
    /// The command.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let how = How { json: self.json, owns: true, ..How::default() };
        if self.local {
            let base = self.base.as_deref().map(dev::local_base).transpose()?;
            let spec = self.spec(base.as_ref().map(|(name, _)| name.clone()))?;
            return run_local(spec, base.into_iter().collect(), How { local: true, ..how }).await;
        }
        let base = self.base.clone().map(OsString::into_string).transpose();
        let connect = self.connect.clone();
        let spec = self.spec(base.map_err(|_| Failure::usage("--base is not UTF-8"))?)?;
        let how = How { dev: connect.dev_folder(), ..how };
        let client = connect.client().await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
        follow(&client, client.run(spec), how).await
    }

    fn spec(self, base: Option<String>) -> Result<v1::ExecutionSpec, Failure> {
        let wait = self.wait_approval || self.on_ask == OnAsk::Wait;
        let on_ask = if wait { v1::OnAsk::Wait } else { v1::OnAsk::Fail };
        Ok(v1::ExecutionSpec {
            command: args::command_text(self.command).into(),
            shell: self.shell.map(v1::Shell::from).unwrap_or_default().into(),
            session_id: self.session.unwrap_or_default(),
            request_id: self.request_id,
            timeout: args::wire_duration(self.timeout),
            description: self.description,
            on_ask: on_ask.into(),
            mode: self.mode.map(v1::Mode::from).unwrap_or_default().into(),
            env: args::variables(&self.env)?,
            separate_stderr: self.separate_stderr,
            profile: self.profile.unwrap_or_default(),
            kill_on_disconnect: self.kill_on_disconnect,
            allow_concurrent: self.allow_concurrent,
            labels: self.label.into_iter().collect(),
            base: base.unwrap_or_default(),
            stdin: false,
        })
    }
}

/// Runs it in an instance of its own, which is gone when this returns.
async fn run_local(spec: v1::ExecutionSpec, bases: Vec<(String, PathBuf)>, how: How) -> Result<u8, Failure> {
    let local = dev::Local::start(bases).await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
    let client = Client::connect(local.settings()?).await;
    let done = match client {
        Ok(client) => follow(&client, client.run(spec), how).await,
        Err(error) => Err(Failure::from(error).with_code(cause::NOT_RUN)),
    };
    local.stop().await;
    done
}
