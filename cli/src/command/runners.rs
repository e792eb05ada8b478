//! `airlock runners`: who runs commands, what their hosts cannot enforce, and the orderly way to stop one.

use std::time::SystemTime;

use clap::{Args, Subcommand};

use super::{
    Failure,
    connect::Connect,
    list::{every_page, ids, lines, patient},
    output,
};
use crate::{
    client::v1,
    render::{execution as page, json, runner},
};

/// List the runners, show one, or let one finish its work.
///
/// Why: to see where commands can run, what a host cannot enforce, and to stop a runner without cutting a
/// command. Needs the role admin.
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
    /// Wait until the server answers and a runner is connected, for a minute at most.
    #[arg(long)]
    wait: bool,
    /// Only names.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum One {
    /// Show everything about one runner.
    ///
    /// Why: to see layer by layer what its host enforces, and what to do where it does not.
    #[command(
        after_help = "Example:\n  runner=$(airlock runners --quiet | head -n 1)\n  airlock runners show $runner"
    )]
    Show {
        #[command(flatten)]
        connect: Connect,
        /// The runner.
        #[arg(value_name = "NAME")]
        name: String,
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a runner finish what it runs, and give it nothing new.
    ///
    /// Why: to stop or mend its host without cutting a command. Its sessions stay, and take no commands
    /// meanwhile. It is drained when nothing runs on it any more.
    #[command(
        after_help = "Example:\n  runner=$(airlock runners --quiet | head -n 1)\n  airlock runners drain $runner\n  airlock runners show $runner            # look at `running`\n  airlock runners undrain $runner"
    )]
    Drain(Named),
    /// Give a runner that drains new work again.
    ///
    /// Why: the reason for draining it has gone.
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
                if self.quiet {
                    return ids(list.iter().map(|one| &one.runner_id));
                }
                if json {
                    return lines(list.iter().map(json::runner));
                }
                output::print(&page::runners(&list, SystemTime::now()))?;
                Ok(0)
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
        let answer = client.runners(request).await?;
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
        return Err(Failure::new(format!("no runner is called `{name}`; known are: {known}")));
    };
    match as_json {
        true => output::print_json(&json::runner(one))?,
        false => output::print(&runner::page(one, SystemTime::now()))?,
    }
    Ok(0)
}

async fn drain(named: &Named, undo: bool) -> Result<u8, Failure> {
    let client = named.connect.client().await?;
    let runner = client.drain_runner(&named.name, undo).await?;
    let running = runner.running;
    output::print(&match (undo, running) {
        (true, _) => format!("{} takes commands again\n", named.name),
        (false, 0) => format!("{} takes no new commands, and runs none\n", named.name),
        (false, _) => format!("{} takes no new commands; still running: {running}\n", named.name),
    })?;
    Ok(0)
}
