//! `airlock approve`.

use clap::{Args, ValueEnum};

use super::{
    Failure,
    connect::Connect,
    list::{self, ListForm, every_page, patient},
    output, pager,
};
use crate::render::{approval as page, json};
use airlock_client::{
    Client,
    v1::{self, approval_service_decide_request as decide},
};

/// List the commands that wait for an approval, and answer one.
///
/// Use this when an execution is PENDING_APPROVAL. The whole command is shown before the question. Characters that
/// hide text or look like others are shown as escapes. An answer covers exactly the command that was shown, once,
/// unless --remember is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock run --profile strict --on-ask wait -- 'python3 -c \"print(1)\"' &\n  airlock approve --wait                      # waits for an open approval, and lists it\n  airlock approve --yes \"$(airlock approve --list --quiet)\"\n  wait\n  airlock run --profile strict --on-ask wait -- 'python3 -c \"print(1)\"' &\n  airlock approve --wait\n  airlock approve --deny --reason 'not on a Friday' \"$(airlock approve --list --quiet)\"\n  wait"
)]
pub(super) struct Approve {
    #[command(flatten)]
    connect: Connect,
    /// The approval, or the execution that waits for it [default: list all]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only list the approvals that wait.
    #[arg(long, conflicts_with_all = ["id", "deny", "yes"])]
    list: bool,
    /// Wait up to one minute until an approval is needed.
    #[arg(long, conflicts_with = "id")]
    wait: bool,
    /// Deny the command.
    #[arg(long, requires = "id", conflicts_with = "yes")]
    deny: bool,
    /// The reason for the denial; the agent sees it.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "deny")]
    reason: String,
    /// Allow the command and remember rules for it: for its session, or for the tenant's sessions with its profile.
    #[arg(long, value_name = "SCOPE", value_enum, requires = "id", conflicts_with = "deny")]
    remember: Option<Scope>,
    /// A rule to remember instead of the suggested ones; may be repeated.
    #[arg(long = "rule", value_name = "RULE", requires = "remember")]
    rules: Vec<String>,
    /// Allow the command without a question on the terminal.
    #[arg(short, long, requires = "id")]
    yes: bool,
    /// Print only IDs.
    #[arg(short, long, conflicts_with_all = ["json", "id"])]
    quiet: bool,
    /// Print one JSON object per line.
    #[arg(long, conflicts_with = "id")]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Scope {
    Session,
    Tenant,
}

impl Approve {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let open = match self.wait {
            true => patient(|| some_approvals(&client)).await?,
            false => open_approvals(&client).await?,
        };
        let Some(id) = &self.id else {
            return self.show(&open);
        };
        let approval = open
            .into_iter()
            .find(|approval| approval.approval_id == *id || approval.execution_id == *id)
            .ok_or_else(|| {
                Failure::new(format!(
                    "no open approval has the ID `{id}`; `airlock approve` lists the open approvals"
                ))
            })?;
        self.answer(&client, approval).await
    }

    fn show(&self, open: &[v1::Approval]) -> Result<u8, Failure> {
        let form = ListForm { quiet: self.quiet, json: self.json };
        list::show(open, form, |one| &one.approval_id, json::approval, page::approvals)
    }

    async fn answer(self, client: &Client, approval: v1::Approval) -> Result<u8, Failure> {
        let text = page::approval(&approval);
        let remembers = self.remember.is_some();
        let Some(answer) = self.choose(text).await? else {
            output::note("the approval is still open; to deny it, use --deny");
            return Ok(1);
        };
        let request = v1::ApprovalServiceDecideRequest {
            approval_id: approval.approval_id.clone(),
            binding: approval.binding,
            answer: Some(answer),
        };
        let decided = client.decide(request).await?;
        let done = match decided.state() {
            v1::ApprovalState::Allowed if remembers => "allowed, and remembered",
            v1::ApprovalState::Allowed => "allowed once",
            v1::ApprovalState::Denied => "denied",
            _ => {
                return Err(Failure::new(format!(
                    "approval `{}` is no longer open, and was neither allowed nor denied",
                    decided.approval_id
                )));
            }
        };
        output::print(&format!("{done}: {}\n", approval.approval_id))?;
        Ok(0)
    }

    /// Returns the answer that allows the command, and the question to ask first.
    fn allow(&self) -> (decide::Answer, &'static str) {
        let Some(scope) = self.remember else {
            return (decide::Answer::AllowOnce(decide::AllowOnce {}), "allow it once? [y/N]");
        };
        let (scope, question) = match scope {
            Scope::Session => (
                v1::RuleScope::Session,
                "allow it, and every command that the rules cover in its session? [y/N]",
            ),
            Scope::Tenant => (
                v1::RuleScope::Tenant,
                "allow it, and every command that the rules cover in the tenant's sessions with its profile? [y/N]",
            ),
        };
        let rules = self.rules.clone();
        let remember = decide::AllowAndRemember { scope: scope.into(), rules };
        (decide::Answer::AllowAndRemember(remember), question)
    }

    /// Shows `text` and returns the answer, or `None` if the person gave no answer.
    async fn choose(self, text: String) -> Result<Option<decide::Answer>, Failure> {
        let (allow, question) = self.allow();
        if self.deny {
            output::print(&text)?;
            return Ok(Some(decide::Answer::Deny(decide::Deny { reason: self.reason })));
        }
        if self.yes {
            output::print(&text)?;
            return Ok(Some(allow));
        }
        if !pager::somebody_is_there() {
            return Err(Failure::usage(
                "standard input or standard output is not a terminal; answer with --yes or --deny",
            ));
        }
        let asked = tokio::task::spawn_blocking(move || pager::ask(&text, question));
        let yes =
            asked.await.map_err(|error| Failure::new(format!("cannot ask the question: {error}")))??;
        Ok(yes.then_some(allow))
    }
}

async fn some_approvals(client: &Client) -> Result<Vec<v1::Approval>, Failure> {
    let open = open_approvals(client).await?;
    if open.is_empty() {
        return Err(Failure::not_yet("no approval is open"));
    }
    Ok(open)
}

async fn open_approvals(client: &Client) -> Result<Vec<v1::Approval>, Failure> {
    every_page(async |page| {
        let request = v1::ApprovalServiceListRequest { page, ..Default::default() };
        let answer = client.approvals(request).await?;
        Ok((answer.approvals, answer.next_page_token))
    })
    .await
}
