//! One tool call: it starts a command and follows it to its end, to the limit of the wait, or to its cancellation.

use std::time::Duration;

use airlock_client::{
    ClientError,
    v1::{
        Approval, Execution, ExecutionSpec, ExecutionState, OnAsk, approval_service_decide_request::Answer,
    },
};
use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use tokio::time::{Instant, timeout};

use super::{
    question::{self, Question},
    text,
    workspace::{Open, Workspace},
};

/// The time between two looks at a command, and between two progress notifications.
const LOOK: Duration = Duration::from_secs(2);
/// The time for the delivery of a progress notification.
const NOTIFY: Duration = Duration::from_secs(1);
/// The time to wait for the end of a command that is being ended.
pub(crate) const STOP: Duration = Duration::from_secs(15);

/// A tool call.
pub(crate) struct Call<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) context: &'a RequestContext<RoleServer>,
}

/// The effect of a cancelled tool call on its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnCancel {
    /// The command is ended, because nobody reads its result.
    End,
    /// The command is unchanged.
    Leave,
}

/// The state in which a command was left.
pub(crate) enum Left {
    /// It has ended.
    Finished(Box<Execution>),
    /// Nobody answered its approval yet. The text is the reply.
    Pending(String),
    /// It continues. The approval is that of a connection that waits for an answer.
    Running(Option<Box<Approval>>),
    /// The tool call was cancelled.
    Cancelled,
}

impl Call<'_> {
    /// Returns the session.
    pub(crate) async fn open(&self) -> Result<Open, String> {
        self.workspace.open().await.map_err(|text| text::note(&text))
    }

    /// Returns the text of an error.
    pub(crate) async fn failed(&self, error: &ClientError) -> String {
        text::note(&self.workspace.failed(error).await)
    }

    /// Starts a command. The mode of the options applies to it in a session that the options name.
    pub(crate) async fn start(&self, open: &Open, spec: ExecutionSpec) -> Result<Execution, String> {
        if self.workspace.is_full() {
            return Err(text::note(
                "too many commands of this connection still run; end some with the tool `stop`",
            ));
        }
        let options = self.workspace.options();
        let mode = if options.session.is_some() { options.mode } else { Default::default() };
        let background = spec.background;
        let spec = ExecutionSpec {
            session_id: open.session.clone(),
            on_ask: OnAsk::Wait.into(),
            mode: mode.into(),
            ..spec
        };
        let started = match open.client.start(spec).await {
            Ok(execution) => Ok(execution),
            // A denied command is an execution, whose result has the reason.
            Err(error) => match error.rejection().and_then(|rejection| rejection.execution_id.clone()) {
                Some(id) => open.client.execution(&id).await,
                None => Err(error),
            },
        };
        match started {
            Ok(execution) => {
                self.workspace.started(&execution.execution_id, background);
                Ok(execution)
            }
            Err(error) => Err(self.failed(&error).await),
        }
    }

    /// Follows a command for at most `limit`.
    pub(crate) async fn follow(
        &self,
        open: &Open,
        execution: Execution,
        limit: Duration,
        on_cancel: OnCancel,
    ) -> Result<Left, ClientError> {
        let id = execution.execution_id.clone();
        let mut asked = Asked::default();
        let left = tokio::select! {
            left = Box::pin(self.watch(open, execution, limit, &mut asked)) => left,
            () = self.cancelled() => Ok(Left::Cancelled),
        };
        asked.end().await;
        match left? {
            Left::Cancelled if on_cancel == OnCancel::End => {
                open.client.cancel(&id).await?;
                self.workspace.ended(&id);
                Ok(Left::Cancelled)
            }
            left => {
                if matches!(left, Left::Finished(_)) {
                    self.workspace.ended(&id);
                }
                Ok(left)
            }
        }
    }

    /// Waits for `work`. Meanwhile it reports the progress of a command, and asks about its connections. Returns `None` if
    /// the call was cancelled.
    pub(crate) async fn asking<T>(&self, open: &Open, id: &str, work: impl Future<Output = T>) -> Option<T> {
        let mut asked = Asked::default();
        let ask = async {
            if let Ok(execution) = open.client.execution(id).await {
                // Its end and its errors are those of `work`, too.
                let _ = Box::pin(self.watch(open, execution, Duration::MAX, &mut asked)).await;
            }
            std::future::pending().await
        };
        let done = tokio::select! {
            done = work => Some(done),
            () = self.cancelled() => None,
            never = ask => never,
        };
        asked.end().await;
        done
    }

    /// Waits until the client cancels the call or the connection ends.
    pub(crate) async fn cancelled(&self) {
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = self.workspace.ending() => {}
        }
    }

    async fn watch(
        &self,
        open: &Open,
        mut execution: Execution,
        limit: Duration,
        asked: &mut Asked,
    ) -> Result<Left, ClientError> {
        let began = Instant::now();
        let id = execution.execution_id.clone();
        loop {
            let elapsed = began.elapsed();
            let state = execution.state();
            if state == ExecutionState::Finished {
                return Ok(Left::Finished(Box::new(execution)));
            }
            let may_ask = match state {
                ExecutionState::PendingApproval => true,
                // A short command is not slowed down.
                ExecutionState::Running => elapsed >= LOOK.min(limit),
                _ => false,
            };
            let approval = if may_ask { question::about(open, &id, asked.id()).await? } else { None };
            if elapsed >= limit {
                return Ok(left(approval));
            }
            asked.follow(self, open, approval).await;
            self.progress(elapsed, asked).await;
            let rest = LOOK.min(limit - elapsed);
            execution = tokio::select! {
                waited = open.client.wait(&id, rest) => waited?,
                answer = asked.answer() => {
                    // Not in the condition of this branch, so that the wait does not cut it off.
                    if let Some(refused) = asked.decide(open, answer).await? {
                        let options = self.workspace.options();
                        let why = (options.describe)(&refused);
                        (options.log)(&format!("the answer of the MCP client's user was refused: {why}"));
                    }
                    open.client.execution(&id).await?
                }
            };
        }
    }

    /// Sends a progress notification, if the client asked for them.
    async fn progress(&self, elapsed: Duration, asked: &Asked) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let what = match &asked.question {
            Some(question) => text::asked(question.approval()),
            None => format!("the command runs for {} s", elapsed.as_secs()),
        };
        let notification = ProgressNotificationParam::new(token, elapsed.as_secs_f64()).with_message(what);
        // A client that does not read gets no further notifications. The result does not depend on them.
        let _ = timeout(NOTIFY, self.context.peer.notify_progress(notification)).await;
    }
}

/// Returns the state of a command that has not ended, with its open approval.
fn left(approval: Option<Approval>) -> Left {
    match approval {
        Some(approval) if approval.connection.is_none() => Left::Pending(text::pending(&approval)),
        approval => Left::Running(approval.map(Box::new)),
    }
}

/// The question of the followed command, if it or one of its connections waits for an approval.
#[derive(Default)]
struct Asked {
    question: Option<Question>,
}

impl Asked {
    fn id(&self) -> &str {
        self.question.as_ref().map_or("", |question| &question.approval().approval_id)
    }

    /// Asks the question of this approval, unless that was done, and withdraws the one before.
    async fn follow(&mut self, call: &Call<'_>, open: &Open, approval: Option<Approval>) {
        if approval.as_ref().map_or("", |approval| &approval.approval_id) == self.id() {
            return;
        }
        self.end().await;
        if let Some(approval) = approval {
            let page = call.workspace.options().approval;
            self.question = Some(Question::ask(open, approval, &call.context.peer, page).await);
        }
    }

    /// Waits for an answer of the user of the MCP client. Cancel-safe.
    async fn answer(&mut self) -> Answer {
        match &mut self.question {
            Some(question) => question.answer().await,
            None => std::future::pending().await,
        }
    }

    /// Sends an answer. Returns the error if it was refused: another approver was faster, or must answer.
    async fn decide(&self, open: &Open, answer: Answer) -> Result<Option<ClientError>, ClientError> {
        let Some(question) = &self.question else { return Ok(None) };
        match question.decide(open, answer).await {
            Ok(()) => Ok(None),
            Err(refused @ ClientError::Rejected(_)) => Ok(Some(refused)),
            Err(error) => Err(error),
        }
    }

    async fn end(&mut self) {
        if let Some(question) = self.question.take() {
            question.withdraw().await;
        }
    }
}
