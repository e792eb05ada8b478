//! `airlock session`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{
    Failure,
    args::{self, Mode, Shell},
    connect::Connect,
    cp,
    list::{ListForm, every_page, show},
    network::Narrowing,
    output,
};
use crate::render::{execution as page, json};
use airlock_client::v1;

/// Create, list, change and close sessions: workspaces that several commands share.
#[derive(Debug, Subcommand)]
pub(super) enum Session {
    Create(Create),
    #[command(visible_alias = "ls")]
    List(List),
    Update(Update),
    Close(Close),
}

impl Session {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        match self {
            Self::Create(create) => create.run().await,
            Self::List(list) => list.run().await,
            Self::Update(update) => update.run().await,
            Self::Close(close) => close.run().await,
        }
    }
}

/// Create a session and print its ID.
///
/// Use this when commands share files, a working directory or background commands.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mkdir -p project/src\n  id=$(airlock session create --upload project)\n  airlock run --session $id -- 'cd src'\n  airlock run --session $id -- pwd            # still there"
)]
pub(super) struct Create {
    #[command(flatten)]
    connect: Connect,
    /// The profile of its commands [default: the identity's]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    profile: String,
    /// The loosest mode of its commands; plan runs only commands that are proven read-only [default: the profile's]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// The shell that reads its commands. A zsh command is never proven read-only
    /// [default: the profile's]
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// The base to copy the workspace from [default: an empty workspace]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    base: String,
    /// Set a variable in every command; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = clap::builder::OsStringValueParser::new())]
    env: Vec<OsString>,
    /// Add a label; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair)]
    label: Vec<(String, String)>,
    /// Require a label of the runner; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = args::pair)]
    runner_label: Vec<(String, String)>,
    /// Close the session after this time without a command [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    idle_timeout: Option<Duration>,
    #[command(flatten)]
    network: Narrowing,
    /// The key with which a repeated create returns the first session [default: a new key]
    #[arg(long, value_name = "KEY", default_value = "", hide_default_value = true)]
    request_id: String,
    /// Copy the contents of this directory into the workspace.
    #[arg(long, value_name = "DIR")]
    upload: Option<PathBuf>,
    /// Print only the ID (the default)
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print the whole session as JSON.
    #[arg(long)]
    json: bool,
}

impl Create {
    async fn run(self) -> Result<u8, Failure> {
        if let Some(directory) = self.upload.as_deref().filter(|directory| !directory.is_dir()) {
            return Err(Failure::usage(format!(
                "--upload: `{}` is not a local directory",
                directory.display()
            )));
        }
        let client = self.connect.client().await?;
        let request = v1::SessionServiceCreateRequest {
            request_id: self.request_id,
            profile: self.profile,
            mode: self.mode.map(v1::Mode::from).unwrap_or_default().into(),
            shell: self.shell.map(v1::Shell::from).unwrap_or_default().into(),
            base: self.base,
            labels: self.label.into_iter().collect(),
            runner_labels: self.runner_label.into_iter().collect(),
            idle_timeout: args::wire_duration(self.idle_timeout),
            network: self.network.rules(),
            ..v1::SessionServiceCreateRequest::default()
        };
        let session = client.create_session(request.with_env(args::variables(&self.env)?)).await?;
        let mut code = 0;
        if let Some(directory) = &self.upload {
            code =
                cp::upload_contents(&client, directory, &session.session_id, self.json || self.quiet).await?;
        }
        if self.json {
            output::print_json(&json::session(&session))?;
        } else {
            output::print(&format!("{}\n", session.session_id))?;
        }
        Ok(code)
    }
}

/// Change the mode, the network or the idle timeout of a session.
///
/// The new mode applies to commands that are decided from now on. The new network also applies to running commands. The
/// change counts as a use of the session.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  id=$(airlock session create)\n  airlock session update --mode plan --idle-timeout 2h $id"
)]
pub(super) struct Update {
    #[command(flatten)]
    connect: Connect,
    /// The loosest mode of its commands.
    #[arg(long, value_enum, required_unless_present_any = ["idle_timeout", "network_allow", "network_warn", "no_network", "reset_network"])]
    mode: Option<Mode>,
    /// Close the session after this time without a command.
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    idle_timeout: Option<Duration>,
    #[command(flatten)]
    network: Narrowing,
    /// No longer narrow the profile's network.
    #[arg(long, conflicts_with_all = ["network_allow", "network_warn", "no_network"])]
    reset_network: bool,
    /// Print the whole session as JSON.
    #[arg(long)]
    json: bool,
    /// The session.
    #[arg(value_name = "ID")]
    id: String,
}

impl Update {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let request = v1::SessionServiceUpdateRequest {
            session_id: self.id,
            mode: self.mode.map(v1::Mode::from).unwrap_or_default().into(),
            idle_timeout: args::wire_duration(self.idle_timeout),
            network: self.network.rules(),
            reset_network: self.reset_network,
        };
        let session = client.update_session(request).await?;
        if self.json {
            output::print_json(&json::session(&session))?;
        } else {
            output::print(&format!("{}\n", session.session_id))?;
        }
        Ok(0)
    }
}

/// List the sessions that are not closed, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  airlock session list --quiet")]
pub(super) struct List {
    #[command(flatten)]
    connect: Connect,
    /// Include closed sessions.
    #[arg(short, long)]
    all: bool,
    /// Print only IDs.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

impl List {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let mut request = v1::SessionServiceListRequest::default();
        if self.all {
            use v1::SessionState::{Closed, Closing, Lost, Open, Opening};
            let states = [Opening, Open, Closing, Closed, Lost].map(i32::from).to_vec();
            request.filter = Some(v1::SessionFilter { states, ..Default::default() });
        }
        let list = every_page(async |page| {
            let request = v1::SessionServiceListRequest { page, ..request.clone() };
            let answer = client.sessions(request).await?;
            Ok((answer.sessions, answer.next_page_token))
        })
        .await?;
        let form = ListForm { quiet: self.quiet, json: self.json };
        show(&list, form, |one| &one.session_id, json::session, page::sessions)
    }
}

/// End the running commands of sessions, and remove their workspaces.
///
/// Copy files that you want to keep with `airlock cp` first. The executions and their output remain.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  id=$(airlock session create)\n  airlock session close $id")]
pub(super) struct Close {
    #[command(flatten)]
    connect: Connect,
    /// The sessions.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Close {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let mut failed = None;
        for id in &self.ids {
            match client.close_session(id).await {
                Ok(_) => output::print(&format!("{id}\n"))?,
                Err(error) => {
                    let failure = Failure::from(error);
                    output::report(&failure);
                    failed = Some(failure.code());
                }
            }
        }
        Ok(failed.unwrap_or(0))
    }
}
