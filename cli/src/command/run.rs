//! `airlock run` and `airlock start`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Failure,
    args::Notes,
    connect::Connect,
    dev,
    follow::{ViewOptions, follow, not_started},
    output,
    spec::Spec,
    terminal::{Terminal, TerminalOptions},
};
use crate::render::{cause, json};
use airlock_client::{Client, v1};

/// Run a command, show its output live, and return its exit code.
///
/// One word after `--` is the text for the shell, unchanged. Several words are joined with single spaces, as ssh does,
/// so quotes for the remote shell must be quoted too. Standard input is read only with -i. Ctrl-C ends the command; a
/// second Ctrl-C leaves at once and prints options to return. Ctrl-B on a terminal sends the command to the background,
/// where it runs on, and prints options to follow it.
///
/// `airlock run -it bash` opens a shell in the sandbox, as ssh does. The command has a terminal, and every key,
/// including Ctrl-C, goes to it. Policy asks for an approval (--wait-approval), because it cannot know the commands
/// that a person will type. Ctrl-P Ctrl-Q leaves the shell running; `airlock attach -it ID` returns to it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock run -- 'ls -la | head -n 3'\n  echo hello | airlock run -i -- 'tr a-z A-Z'\n  id=$(airlock session create)\n  airlock run --session $id --timeout 10m -- 'mkdir -p src && cd src && pwd'\n  airlock run --local -- 'seq 1 3'          # starts its own server for this command\n  script -qec \"airlock run -t -- 'tty; stty size'\" /dev/null     # on a terminal that `script` creates\n  server=$(airlock run --background --session $id -- 'exec python3 -m http.server 8000')\n  airlock run --session $id --yield-after 15s -- 'seq 1 3'\n\nExit codes: the command's exit code, or 128 plus the number of the signal that ended it. Also:\n  0    with --background: the command was accepted\n  1    the result is unknown\n  2    wrong usage\n  123  the command was sent to the background, or its terminal was detached, and it continues\n  124  the command's timeout expired\n  125  the command did not run; standard error states the reason\n  130  the command was cancelled\n  141  the reader of the output closed the pipe"
)]
pub(super) struct Run {
    #[command(flatten)]
    connect: Connect,
    /// Forward standard input and its end to the command.
    #[arg(short, long, conflicts_with = "background")]
    interactive: bool,
    /// Print events as JSON lines instead of the output.
    #[arg(long)]
    json: bool,
    /// End the command if this view ends before the command does.
    #[arg(long, conflicts_with = "background")]
    kill_on_disconnect: bool,
    /// Start a server and a runner for this command only, and remove them afterwards.
    #[arg(long, conflicts_with_all = ["session", "background", "yield_after"])]
    local: bool,
    #[command(flatten)]
    notes: Notes,
    #[command(flatten)]
    terminal: TerminalOptions,
    #[command(flatten)]
    spec: Spec,
}

impl Run {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let terminal = self.terminal.terminal(false)?;
        if terminal.is_some() && self.spec.separate_stderr {
            return Err(Failure::usage(
                "--tty cannot be used with --separate-stderr: a terminal has only one stream",
            ));
        }
        let input = self.interactive && terminal.is_none();
        let notes = self.notes.wanted();
        let options =
            ViewOptions { json: self.json, owns: true, input, terminal, notes, ..ViewOptions::default() };
        if self.local {
            let base = self.spec.base.as_deref().map(dev::local_base).transpose()?;
            let spec = self.wire(base.as_ref().map(|(name, _)| name.clone()), &options)?;
            let options = ViewOptions { local: true, ..options };
            return Box::pin(run_local(spec, base.into_iter().collect(), options)).await;
        }
        let connect = self.connect.clone();
        let base = self.spec.base_name()?;
        if self.spec.background {
            let json = self.json;
            return start(&connect, self.wire(base, &options)?, json).await;
        }
        let spec = self.wire(base, &options)?;
        let options = ViewOptions { dev: connect.dev_directory(), ..options };
        let client = connect.client().await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
        follow(&client, client.run(spec), options).await
    }

    fn wire(self, base: Option<String>, options: &ViewOptions) -> Result<v1::ExecutionSpec, Failure> {
        Ok(v1::ExecutionSpec {
            kill_on_disconnect: self.kill_on_disconnect,
            stdin: self.interactive,
            pty: options.terminal.as_ref().map(|_| Terminal::wire()),
            ..self.spec.wire(base)?
        })
    }
}

/// Runs the command in a temporary instance that is removed before this returns.
async fn run_local(
    spec: v1::ExecutionSpec,
    bases: Vec<(String, PathBuf)>,
    options: ViewOptions,
) -> Result<u8, Failure> {
    let local = dev::Local::start(bases).await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
    let client = Client::connect(local.settings()?).await;
    let done = match client {
        Ok(client) => follow(&client, client.run(spec), options).await,
        Err(error) => Err(Failure::from(error).with_code(cause::NOT_RUN)),
    };
    local.stop().await;
    done
}

/// Start a command, print its execution ID, and do not wait for it.
///
/// Use this for long commands. The command takes its turn in the session and has the same timeout as with `run`, unless
/// --background is given. A read-only command does not wait for its turn. Read the output with `airlock logs`, and wait
/// for the end with `airlock wait`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'for n in 1 2 3; do echo $n; sleep 0.1; done')\n  airlock logs --follow $id\n  airlock wait $id\n\nExit codes: 0 if the command was accepted; 125 if it did not run, with the reason on standard error; 1 if it\nis unknown whether it runs; 2 for wrong usage."
)]
pub(super) struct Start {
    #[command(flatten)]
    connect: Connect,
    /// Print the whole execution as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    spec: Spec,
}

impl Start {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let base = self.spec.base_name()?;
        start(&self.connect, self.spec.wire(base)?, self.json).await
    }
}

/// Starts a command, and prints its ID or the whole execution.
async fn start(connect: &Connect, spec: v1::ExecutionSpec, json: bool) -> Result<u8, Failure> {
    let client = connect.client().await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
    match client.start(spec).await {
        Ok(execution) if json => output::print_json(&json::execution(&execution))?,
        Ok(execution) => output::print(&format!("{}\n", execution.execution_id))?,
        Err(error) => return Ok(not_started(&client, &error).await),
    }
    Ok(0)
}
