//! `airlock ps` and `airlock show`, and functions that all lists share.

use std::time::{Duration, SystemTime};

use clap::Args;
use tokio::time::Instant;

use super::{Failure, args, connect::Connect, output};
use crate::render::{execution as page, json};
use airlock_client::{Client, ClientError, v1};

/// The number of entries per request. Full executions are large.
const PAGE: i32 = 50;
/// The longest time that `--wait` waits.
const WAIT: Duration = Duration::from_secs(60);
/// A shorter wait is not reported.
const LASTING: Duration = Duration::from_secs(2);
/// The pause between two attempts of `--wait`.
const PAUSE: Duration = Duration::from_millis(100);

/// List executions, newest first: those that have not ended, or all.
///
/// Use this to find the ID of a command, and to see which commands still run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock ps\n  airlock ps --all --last 10\n  airlock ps --all --json | jq -r .execution_id"
)]
pub(super) struct Ps {
    #[command(flatten)]
    connect: Connect,
    /// Include executions that have ended.
    #[arg(short, long)]
    all: bool,
    /// Only executions of this session.
    #[arg(short, long, value_name = "ID", value_parser = args::session)]
    session: Option<String>,
    /// The largest number of executions to list.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 1000, value_parser = args::count::<u32>)]
    last: u32,
    /// Print only IDs.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

impl Ps {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let list = self.executions(&client).await?;
        let form = ListForm { quiet: self.quiet, json: self.json };
        show(&list, form, |one| &one.execution_id, json::execution, page::executions)
    }

    async fn executions(&self, client: &Client) -> Result<Vec<v1::Execution>, Failure> {
        let most = usize::try_from(self.last).unwrap_or(usize::MAX);
        let mut request = v1::ExecutionServiceListRequest {
            page: Some(v1::PageRequest { page_size: PAGE, page_token: String::new() }),
            filter: Some(v1::ExecutionFilter {
                session_id: self.session.clone().unwrap_or_default(),
                states: if self.all { Vec::new() } else { live() },
                ..Default::default()
            }),
            view: v1::ExecutionView::Full.into(),
        };
        let mut list = Vec::new();
        loop {
            let answer = client.executions(request.clone()).await?;
            list.extend(answer.executions);
            if answer.next_page_token.is_empty() || list.len() >= most {
                list.truncate(most);
                return Ok(list);
            }
            request.page = next_page(answer.next_page_token);
        }
    }
}

fn live() -> Vec<i32> {
    use v1::ExecutionState::{PendingApproval, Queued, Running, Starting};
    [PendingApproval, Queued, Starting, Running].map(i32::from).to_vec()
}

/// Show everything about one execution: the request, the decision and the result.
///
/// Use this to learn why a command was denied, where and when it ran, and whether its output is still
/// available.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  id=$(airlock start -- 'ls -la')\n  airlock show $id")]
pub(super) struct Show {
    #[command(flatten)]
    connect: Connect,
    /// The execution.
    #[arg(value_name = "ID")]
    id: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let execution = client.execution(&self.id).await?;
        if self.json {
            output::print_json(&json::execution(&execution))?;
        } else {
            output::print(&page::execution(&execution))?;
        }
        Ok(0)
    }
}

/// Repeats an attempt for up to a minute while its error is temporary, and reports the reason for the wait. Returns the
/// last failure.
pub(super) async fn patient<T, F>(attempt: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let (began, mut said) = (Instant::now(), false);
    loop {
        match attempt().await {
            Err(failure) if failure.is_passing() && began.elapsed() < WAIT => {
                if !said && began.elapsed() > LASTING {
                    output::note(&format!("waiting up to one minute: {}", failure.message()));
                    said = true;
                }
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Returns all entries of a list. `page` requests one page and returns its entries and the token of the
/// next page.
pub(super) async fn every_page<T>(
    page: impl AsyncFn(Option<v1::PageRequest>) -> Result<(Vec<T>, String), ClientError>,
) -> Result<Vec<T>, Failure> {
    let (mut list, mut at) = (Vec::new(), None);
    loop {
        let (entries, next) = page(at).await?;
        list.extend(entries);
        if next.is_empty() {
            return Ok(list);
        }
        at = next_page(next);
    }
}

fn next_page(page_token: String) -> Option<v1::PageRequest> {
    Some(v1::PageRequest { page_size: PAGE, page_token })
}

/// The form of a list: only IDs, JSON lines or a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListForm {
    pub(super) quiet: bool,
    pub(super) json: bool,
}

/// Prints a list in the given form. `table` formats it for people, at the current time.
pub(super) fn show<T>(
    list: &[T],
    form: ListForm,
    id: fn(&T) -> &String,
    json: fn(&T) -> serde_json::Value,
    table: fn(&[T], SystemTime) -> String,
) -> Result<u8, Failure> {
    if form.quiet {
        return ids(list.iter().map(id));
    }
    if form.json {
        return lines(list.iter().map(json));
    }
    output::print(&table(list, SystemTime::now()))?;
    Ok(0)
}

fn ids<'a>(ids: impl Iterator<Item = &'a String>) -> Result<u8, Failure> {
    let text: String = ids.flat_map(|id| [id.as_str(), "\n"]).collect();
    output::print(&text)?;
    Ok(0)
}

pub(super) fn lines(values: impl Iterator<Item = serde_json::Value>) -> Result<u8, Failure> {
    for value in values {
        output::print_json(&value)?;
    }
    Ok(0)
}
