//! `airlock rules`.

use clap::{Args, Subcommand};

use super::{
    Failure, args,
    connect::Connect,
    list::{ListForm, every_page, show},
    output,
};
use crate::render::{approval as page, escape, json};
use airlock_client::v1;

/// List the rules that approvers asked to remember, and remove one.
///
/// Use this to see which commands run without a new approval. The rules of a profile take precedence: a remembered rule
/// never allows a command that the profile denies or asks about.
#[derive(Debug, Subcommand)]
pub(super) enum Rules {
    #[command(visible_alias = "ls")]
    List(List),
    #[command(visible_alias = "rm")]
    Remove(Remove),
}

impl Rules {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        match self {
            Self::List(list) => list.run().await,
            Self::Remove(remove) => remove.run().await,
        }
    }
}

/// List the rules of your tenant, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  airlock rules list --json | jq -r .rule")]
pub(super) struct List {
    #[command(flatten)]
    connect: Connect,
    /// Only rules of this session.
    #[arg(short, long, value_name = "ID", value_parser = args::session)]
    session: Option<String>,
    /// Print only the IDs, one per line.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

impl List {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let filter = self.session.map(|session_id| v1::RuleFilter { session_id });
        let list = every_page(async |page| {
            let request = v1::ApprovalServiceListRulesRequest { page, filter: filter.clone() };
            let answer = client.rules(request).await?;
            Ok((answer.rules, answer.next_page_token))
        })
        .await?;
        let form = ListForm { quiet: self.quiet, json: self.json };
        show(&list, form, |rule| &rule.rule_id, json::rule, page::rules)
    }
}

/// Remove a rule. Commands that it covered need an approval again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  airlock rules list --quiet | xargs -r -n1 airlock rules remove")]
pub(super) struct Remove {
    #[command(flatten)]
    connect: Connect,
    /// The rule.
    #[arg(value_name = "ID")]
    id: String,
}

impl Remove {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let rule = client.remove_rule(&self.id).await?;
        output::print(&format!("removed: {}\n", escape::line(rule.rule.as_bytes())))?;
        Ok(0)
    }
}
