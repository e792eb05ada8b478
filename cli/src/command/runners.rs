//! `airlock runners`: lists runners, shows the layers that their hosts cannot enforce, and drains a
//! runner.

use std::time::SystemTime;

use clap::{Args, Subcommand};

use super::{
    Failure,
    connect::Connect,
    list::{self, ListForm, every_page, patient},
    output,
};
use crate::render::{execution as page, json, runner};
use airlock_client::v1;

/// List the runners, show one, or drain one.
///
/// Use this to see where commands can run, to find limits that a host cannot enforce, and to stop a runner without
/// interrupting commands. Requires the role admin.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  airlock runners --wait                 # returns when commands can run\n  airlock runners --json | jq .capabilities"
)]
pub(super) struct Runners {
    #[command(subcommand)]
    one: Option<One>,
    #[command(flatten)]
    connect: Connect,
    /// Wait up to one minute until the server answers and a runner is connected.
    #[arg(long)]
    wait: bool,
    /// Print only names.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum One {
    /// Show everything about one runner.
    ///
    /// Use this to see which layers the host enforces, and the remedy for each missing one.
    #[command(
        after_help = "Example:\n  runner=$(airlock runners --quiet | head -n 1)\n  airlock runners show $runner"
    )]
    Show {
        #[command(flatten)]
        connect: Connect,
        /// The runner.
        #[arg(value_name = "NAME")]
        name: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a runner finish its commands, and give it no new ones.
    ///
    /// Use this before you stop or repair the host. The runner's sessions remain, but take no commands
    /// while it drains. The runner is drained when no command runs on it.
    #[command(
        after_help = "Example:\n  runner=$(airlock runners --quiet | head -n 1)\n  airlock runners drain $runner\n  airlock runners show $runner            # shows how many commands still run\n  airlock runners undrain $runner"
    )]
    Drain(Named),
    /// Give new work to a draining runner again.
    ///
    /// Use this when the host is back in service.
    #[command(
        after_help = "Example:\n  runner=$(airlock runners --quiet | head -n 1)\n  airlock runners undrain $runner"
    )]
    Undrain(Named),
}

#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    connect: Connect,
    /// The runner.
    #[arg(value_name = "NAME")]
    name: String,
}

impl Runners {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let (connect, wait, json) = (&self.connect, self.wait, self.json);
        match self.one {
            None => {
                let list = match wait {
                    true => patient(|| connected(connect)).await?,
                    false => all(connect).await?,
                };
                let form = ListForm { quiet: self.quiet, json };
                list::show(&list, form, |one| &one.runner_id, json::runner, page::runners)
            }
            Some(One::Show { connect, name, json }) => show(&connect, &name, json).await,
            Some(One::Drain(named)) => drain(&named, false).await,
            Some(One::Undrain(named)) => drain(&named, true).await,
        }
    }
}

pub(super) async fn all(connect: &Connect) -> Result<Vec<v1::Runner>, Failure> {
    let client = connect.client().await?;
    every_page(async |page| {
        let request = v1::AdminServiceListRunnersRequest { page, ..Default::default() };
        let answer = client.admin().runners(request).await?;
        Ok((answer.runners, answer.next_page_token))
    })
    .await
}

async fn connected(connect: &Connect) -> Result<Vec<v1::Runner>, Failure> {
    let list = all(connect).await?;
    if list.iter().any(|runner| runner.state() == v1::RunnerState::Connected) {
        return Ok(list);
    }
    Err(Failure::not_yet("no runner is connected"))
}

async fn show(connect: &Connect, name: &str, as_json: bool) -> Result<u8, Failure> {
    let list = all(connect).await?;
    let Some(one) = list.iter().find(|one| one.runner_id == name) else {
        let known: Vec<&str> = list.iter().map(|one| one.runner_id.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Failure::new(format!("there is no runner `{name}`; known runners: {known}")));
    };
    match as_json {
        true => output::print_json(&json::runner(one))?,
        false => output::print(&runner::page(one, SystemTime::now()))?,
    }
    Ok(0)
}

async fn drain(named: &Named, undo: bool) -> Result<u8, Failure> {
    let client = named.connect.client().await?;
    let runner = client.admin().drain_runner(&named.name, undo).await?;
    let running = runner.running;
    output::print(&match (undo, running) {
        (true, _) => format!("{} takes commands again\n", named.name),
        (false, 0) => format!("{} takes no new commands; no command is running\n", named.name),
        (false, _) => format!("{} takes no new commands; still running: {running}\n", named.name),
    })?;
    Ok(0)
}
