//! `airlock profile`: lists and shows profiles.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Failure,
    connect::Connect,
    list::{every_page, lines},
    output,
};
use crate::render::{names, network, runner as page};
use airlock_client::v1;

/// List the profiles that you may use, or show one with its rules.
///
/// A profile decides which commands run without approval, and limits what a command can reach.
#[derive(Debug, Subcommand)]
pub(super) enum Profile {
    /// List the profiles that you may use.
    ///
    /// Use this to choose a profile for `run --profile` or `session create --profile`.
    #[command(visible_alias = "ls", after_help = "Example:\n  airlock profile list")]
    List(List),
    /// Show a profile: its modes, limits and rules.
    ///
    /// Use this to see which rule applies before you send a command.
    #[command(
        after_help = "Examples:\n  airlock profile show strict\n  airlock profile show --json | jq .rules"
    )]
    Show(Show),
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    connect: Connect,
    /// Only names with this prefix.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    connect: Connect,
    /// The profile [default: the profile of requests that name none]
    #[arg(value_name = "NAME", default_value = "", hide_default_value = true)]
    name: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Profile {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        match self {
            Self::List(list) => list.run().await,
            Self::Show(show) => show.run().await,
        }
    }
}

impl List {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let filter = Some(v1::ProfileFilter { name_prefix: self.prefix });
        let list = every_page(async |page| {
            let filter = filter.clone();
            let request = v1::PolicyServiceListProfilesRequest { page, filter, ..Default::default() };
            let answer = client.policy().profiles(request).await?;
            Ok((answer.profiles, answer.next_page_token))
        })
        .await?;
        if self.json {
            return lines(list.iter().map(profile));
        }
        output::print(&page::profiles(&list))?;
        Ok(0)
    }
}

impl Show {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let one = client.policy().profile(&self.name, v1::ProfileView::Full).await?;
        match self.json {
            true => output::print_json(&profile(&one))?,
            false => output::print(&page::profile(&one))?,
        }
        Ok(0)
    }
}

/// Returns a profile as JSON. Durations are in seconds.
fn profile(one: &v1::Profile) -> Value {
    let limits = one.limits.unwrap_or_default();
    let seconds = |span: Option<prost_types::Duration>| {
        let span = span.and_then(|span| std::time::Duration::try_from(span).ok());
        span.map(|span| span.as_secs_f64())
    };
    let rules = one
        .rules
        .iter()
        .map(|rule| json!({ "verdict": names::lower::<v1::Verdict>(rule.verdict), "rule": rule.rule }));
    json!({
        "name": one.name,
        "is_default": one.is_default,
        "policy_version": hex::encode(&one.policy_version),
        "default_mode": names::lower::<v1::Mode>(one.default_mode),
        "modes": one.modes.iter().map(|mode| names::lower::<v1::Mode>(*mode)).collect::<Vec<_>>(),
        "timeout_default": seconds(one.timeout_default),
        "timeout_max": seconds(one.timeout_max),
        "limits": {
            "open_files": limits.open_files,
            "processes": limits.processes,
            "file_size": limits.file_size,
            "output_bytes": limits.output_bytes,
            "grace": seconds(limits.grace),
        },
        "path": one.path,
        "env_names": one.env_names,
        "root_binds": one.root_binds,
        "network": network::json(one.network.as_ref()),
        "port_forward": one.port_forward,
        "self_approval": one.self_approval,
        "no_background": one.no_background,
        "hooks": one
            .hooks
            .iter()
            .map(|hook| json!({ "name": hook.name, "required": hook.required }))
            .collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
    })
}
