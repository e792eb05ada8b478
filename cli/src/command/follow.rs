//! Follows an execution to its end: its bytes to standard output, exactly; its fate to standard error;
//! its exit code to the caller.

use std::{pin::Pin, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::{io, sync::watch};
use tonic::Code;

use super::{Failure, failure::describe, interrupt::Interrupts, output};
use crate::{
    client::{
        Client, ClientError, Events, Rejection,
        v1::{Event, Execution, ExecutionState, LinkState, OutputStream, StateChanged, event::Event as Kind},
    },
    render::{cause, decision, escape, json, names},
    state::{StateError, StateFolder},
};

/// Of a view that was left by Ctrl-C.
const LEFT: u8 = 130;
/// How long a request for the end may take once nobody waits for that end any more.
const LAST_WORD: Duration = Duration::from_secs(1);
/// The reason's code where a rule asks.
const ASK_RULE: &str = "ask_rule";
/// The reason's code where the mode alone denies.
const PLAN_MODE: &str = "plan_mode";
/// Trouble that passes sooner is not worth a word.
const LASTING: Duration = Duration::from_secs(2);

/// How to follow.
#[derive(Debug, Clone, Default)]
pub(super) struct How {
    /// Events as JSON lines, instead of bytes.
    pub(super) json: bool,
    /// The view started the command, so that Ctrl-C and a closed output end it.
    pub(super) owns: bool,
    /// The server ends with the view, so that nothing can be left running.
    pub(super) local: bool,
    /// The state folder of the server, where that is a dev: once it has ended there is nothing to wait for.
    pub(super) dev: Option<StateFolder>,
}

/// Shows all events and gives the exit code.
pub(super) async fn follow(client: &Client, events: Events, how: How) -> Result<u8, Failure> {
    let known = watch::Sender::new(events.execution_id().map(str::to_owned));
    let id = known.subscribe();
    let mut trouble = Trouble { text: events.trouble(), dev: how.dev.clone(), address: client.address() };
    let mut view = std::pin::pin!(
        View { json: how.json, owns: how.owns, known, stdout: io::stdout(), stderr: io::stderr() }
            .show(events)
    );
    let mut interrupts = Interrupts::new()?;
    let mut asked = Asked::Not;
    let end = loop {
        tokio::select! {
            end = &mut view => break end,
            failure = trouble.hopeless(&id) => return Err(failure),
            () = asked.done(), if matches!(asked, Asked::Asking(_)) => {}
            () = interrupts.next() => {
                if how.owns && matches!(asked, Asked::Not) {
                    let again = if how.local { "ends it at once" } else { "leaves without waiting for it" };
                    output::note(&format!("asked for its end; Ctrl-C again {again}"));
                    asked = Asked::Asking(Box::pin(cancel(client.clone(), id.clone())));
                    continue;
                }
                // Somebody who is that quick still wants it ended.
                tokio::select! {
                    end = &mut view => break end,
                    _ = tokio::time::timeout(LAST_WORD, asked.done()) => {}
                }
                if !how.local {
                    say_left(id.borrow().as_deref());
                }
                return Ok(LEFT);
            }
        }
    };
    match end {
        Ok(End::Finished(code)) => Ok(code),
        Ok(End::Failed(error)) => {
            if how.json {
                // Also said on standard error, for a person who looks.
                output::print_json(&json::error(&error))?;
            }
            let started = id.borrow().is_some() || !how.owns;
            Ok(not_followed(client, &error, started).await)
        }
        Err(failure) => {
            // What nobody reads need not run on, as in a pipe of local commands.
            if failure.is_broken_pipe() && how.owns {
                let id = id.borrow().clone();
                if let Some(id) = id {
                    let _ = client.cancel(&id).await;
                }
            }
            Err(failure)
        }
    }
}

/// Whether the command's end was asked for.
enum Asked {
    Not,
    Asking(Pin<Box<dyn Future<Output = ()> + Send>>),
    Yes,
}

impl Asked {
    /// Returns when nothing is on its way any more. Cancel-safe.
    async fn done(&mut self) {
        if let Self::Asking(asking) = self {
            asking.await;
            *self = Self::Yes;
        }
    }
}

/// What keeps the view from going on.
struct Trouble<'a> {
    text: watch::Receiver<Option<String>>,
    dev: Option<StateFolder>,
    address: &'a str,
}

impl Trouble<'_> {
    /// Says it when trouble lasts; returns only when it will not pass. Cancel-safe, but says it again.
    async fn hopeless(&mut self, id: &watch::Receiver<Option<String>>) -> Failure {
        loop {
            let lasting = async {
                let text = self.text.wait_for(Option::is_some).await.map(|text| text.clone());
                tokio::time::sleep(LASTING).await;
                text.ok().flatten()
            };
            let Some(text) = lasting.await else { std::future::pending().await };
            if self.text.borrow().is_none() {
                continue;
            }
            if self.dev_is_gone() {
                return dev_has_ended(id.borrow().as_deref());
            }
            output::note(&format!("{}; trying again", escape::line(text.as_bytes())));
            if self.text.wait_for(Option::is_none).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn dev_is_gone(&self) -> bool {
        self.dev.as_ref().is_some_and(|folder| is_gone(folder, self.address))
    }
}

/// Whether the dev that was talked to has ended, or another is in its place.
pub(super) fn is_gone(folder: &StateFolder, address: &str) -> bool {
    match folder.connection() {
        Ok(connection) => connection.address != address,
        Err(error) => matches!(error, StateError::NotRunning(_)),
    }
}

pub(super) fn dev_has_ended(id: Option<&str>) -> Failure {
    let look = match id {
        Some(id) => format!("airlock wait {id}"),
        None => "airlock ps --all".to_owned(),
    };
    Failure::new(format!(
        "the airlock dev has ended; start it again, and see what became of the command with: {look}"
    ))
}

/// How a view ended.
enum End {
    Finished(u8),
    Failed(ClientError),
}

struct View {
    json: bool,
    owns: bool,
    known: watch::Sender<Option<String>>,
    stdout: io::Stdout,
    stderr: io::Stderr,
}

impl View {
    async fn show(mut self, mut events: Events) -> Result<End, Failure> {
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(End::Finished(cause::FAILED)),
                Err(error) => return Ok(End::Failed(error)),
            };
            let id = events.execution_id().unwrap_or_default();
            self.known.send_if_modified(|known| {
                let new = known.as_deref() != Some(id) && !id.is_empty();
                if new {
                    *known = Some(id.to_owned());
                }
                new
            });
            self.event(id, &event).await?;
            if let Some(Kind::Finished(finished)) = &event.event {
                let execution = finished.execution.clone().unwrap_or_default();
                say_end(&execution);
                return Ok(End::Finished(cause::exit_code(execution.result.as_ref())));
            }
            if let Some(Kind::Backgrounded(_)) = &event.event {
                if self.owns {
                    say_backgrounded(id);
                    return Ok(End::Finished(cause::BACKGROUNDED));
                }
                output::note("it was sent to the background, and goes on there");
                events.go_on();
            }
        }
    }

    async fn event(&mut self, id: &str, event: &Event) -> Result<(), Failure> {
        if self.json {
            let line = format!("{}\n", json::event(id, event));
            output::write(&mut self.stdout, line.as_bytes()).await?;
        }
        match &event.event {
            Some(Kind::Output(out)) if !self.json => match out.stream() {
                OutputStream::Stderr => output::write(&mut self.stderr, &out.data).await?,
                _ => output::write(&mut self.stdout, &out.data).await?,
            },
            Some(Kind::Gap(gap)) => output::note(&format!(
                "{} bytes of {} are no longer held (from offset {} to {})",
                gap.to.saturating_sub(gap.from),
                names::lower::<OutputStream>(gap.stream),
                gap.from,
                gap.to
            )),
            Some(Kind::StateChanged(change)) => say_state(change),
            _ => {}
        }
        Ok(())
    }
}

/// Tells what a person must know while the command is on its way.
fn say_state(change: &StateChanged) {
    if change.state() == ExecutionState::PendingApproval {
        let id = &change.approval_id;
        output::note(&format!("policy asks for a person; answer with: airlock approve {id}"));
    }
    if change.link() == LinkState::Unreachable {
        output::note("its runner cannot be reached just now; the command goes on there");
    }
}

/// Tells how it ended, where the exit code alone does not.
fn say_end(execution: &Execution) {
    let exited = execution
        .result
        .as_ref()
        .and_then(|outcome| outcome.cause.as_ref())
        .is_some_and(|cause| matches!(cause.detail, Some(crate::client::v1::cause::Detail::Exited(_))));
    if !exited {
        output::note(&cause::sentence(execution.result.as_ref()));
    }
}

fn say_backgrounded(id: &str) {
    output::note(&format!(
        "execution {id} was sent to the background, and runs on\n  follow it with: airlock logs --follow {id}\n  end it with: airlock kill {id}"
    ));
}

fn say_left(id: Option<&str>) {
    match id {
        Some(id) => output::note(&format!(
            "execution {id} is left alone\n  see it with: airlock attach {id}\n  end it with: airlock kill {id}"
        )),
        None => output::note("left before the server answered; see `airlock ps` for what runs"),
    }
}

/// Asks for the end as soon as it is known of what.
async fn cancel(client: Client, mut id: watch::Receiver<Option<String>>) {
    let known = match id.wait_for(Option::is_some).await {
        Ok(known) => known.clone().unwrap_or_default(),
        Err(_) => return,
    };
    if let Err(error) = client.cancel(&known).await {
        output::note(&format!("its end could not be asked for: {}", describe(&error)));
    }
}

/// Says why there is nothing (more) to follow, and gives the exit code.
async fn not_followed(client: &Client, error: &ClientError, started: bool) -> u8 {
    let denied = error.rejection().filter(|rejection| rejection.code == Code::PermissionDenied);
    if let Some((rejection, id)) = denied.and_then(|r| Some((r, r.execution_id.as_deref()?))) {
        say_denied(client, rejection, id).await;
        return cause::NOT_RUN;
    }
    output::note(&describe(error));
    match error {
        ClientError::ViewLost { execution_id, cursor, .. } => {
            let from = if cursor.is_empty() {
                String::new()
            } else {
                format!(" --cursor {}", STANDARD.encode(cursor))
            };
            output::note(&format!("it may still run; go on with: airlock attach {execution_id}{from}"));
            cause::FAILED
        }
        ClientError::StartUnknown { request_id, .. } => {
            output::note(&format!("to find out, start it again with --request-id {request_id}"));
            cause::FAILED
        }
        _ if started => cause::FAILED,
        _ => cause::NOT_RUN,
    }
}

/// Why policy did not let it run, with the place underlined, and what to do.
async fn say_denied(client: &Client, rejection: &Rejection, id: &str) {
    let execution = match client.execution(id).await {
        Ok(execution) => execution,
        Err(error) => {
            output::note(&format!("{} (execution {id})", escape::line(rejection.message.as_bytes())));
            output::note(&format!("the decision cannot be had: {}", describe(&error)));
            return;
        }
    };
    let mut text = format!("it did not run: {}", escape::line(rejection.message.as_bytes()));
    let asked = rejection.reason == "APPROVAL_REQUIRED";
    if let Some(decided) = &execution.decision {
        text = format!("it did not run: {}\n", decision::headline(decided));
        text.push_str(&decision::reasons(&execution.command, decided));
        let rules = decision::suggestions(decided);
        // An ask rule comes before every rule that allows.
        let by_rule = decided.reasons.iter().any(|reason| reason.code == ASK_RULE);
        if asked && !by_rule && !rules.is_empty() {
            text.push_str("  rules that would allow it in the profile:\n");
            text.push_str(&rules);
        }
    }
    let planned = execution.decision.iter().flat_map(|decided| &decided.reasons);
    text.push_str(if planned.into_iter().any(|reason| reason.code == PLAN_MODE) {
        "  to have it decided by the profile's rules: run it in another --mode, in a session that permits it\n"
    } else if asked {
        "  to have a person decide: run it again with --on-ask wait, and answer with `airlock approve`\n"
    } else {
        "  only whoever keeps the profile can allow it\n"
    });
    text.push_str(&format!("  everything about it: airlock show {id}"));
    output::note(&text);
}

/// The exit code of an execution that was looked at after its end, with the sentence on standard error.
pub(super) fn end_of(execution: &Execution) -> u8 {
    say_end(execution);
    cause::exit_code(execution.result.as_ref())
}
