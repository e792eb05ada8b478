//! An execution as a stream of events that outlives its connections: where a view breaks, or ends
//! without a closing event, it is taken up again after the last event that was given out.

use bytes::Bytes;
use tokio::{sync::watch, time::Instant};
use tonic::{Code, Status, Streaming};

use super::{
    Client, ClientError,
    retry::Backoff,
    seen::{Admission, Seen},
    v1::{
        self, Event, ExecutionSpec, event::Event as Kind, execution_service_attach_request::From as WireFrom,
        execution_service_client::ExecutionServiceClient,
    },
};

/// Where a reader begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum From {
    /// With the first event.
    #[default]
    Beginning,
    /// After the event that had this cursor.
    Cursor(Bytes),
    /// With all states, and the bytes from these offsets on.
    Offsets {
        /// Bytes.
        stdout: u64,
        /// Bytes.
        stderr: u64,
    },
}

/// The events of one execution, each exactly once.
#[derive(Debug)]
pub struct Events {
    client: Client,
    source: Source,
    view: Option<View>,
    /// When the view brought its first event.
    began: Option<Instant>,
    seen: Seen,
    backoff: Backoff,
    finished: bool,
    trouble: watch::Sender<Option<String>>,
}

/// Where the next view comes from.
#[derive(Debug)]
enum Source {
    /// The start has not been answered yet.
    Start {
        spec: Box<ExecutionSpec>,
        /// It may have reached the server.
        sent: bool,
    },
    /// The execution is known.
    Execution { id: String, from: From },
}

#[derive(Debug)]
enum View {
    Run(Streaming<v1::ExecutionServiceRunResponse>),
    Attach(Streaming<v1::ExecutionServiceAttachResponse>),
}

impl View {
    async fn next(&mut self) -> Result<Option<Event>, Status> {
        match self {
            Self::Run(stream) => Ok(stream.message().await?.and_then(|answer| answer.event)),
            Self::Attach(stream) => Ok(stream.message().await?.and_then(|answer| answer.event)),
        }
    }
}

impl Events {
    pub(super) fn run(client: Client, spec: ExecutionSpec) -> Self {
        let source = Source::Start { spec: Box::new(spec), sent: false };
        Self::new(client, source, Seen::at(0, 0))
    }

    pub(super) fn attach(client: Client, id: String, from: From) -> Self {
        let seen = match &from {
            From::Beginning => Seen::at(0, 0),
            From::Cursor(_) => Seen::default(),
            From::Offsets { stdout, stderr } => Seen::at(*stdout, *stderr),
        };
        Self::new(client, Source::Execution { id, from }, seen)
    }

    fn new(client: Client, source: Source, seen: Seen) -> Self {
        let backoff = Backoff::new(&client.patience());
        Self {
            client,
            source,
            view: None,
            began: None,
            seen,
            backoff,
            finished: false,
            trouble: watch::Sender::default(),
        }
    }

    /// The execution's id, once it is known.
    #[must_use]
    pub fn execution_id(&self) -> Option<&str> {
        match &self.source {
            Source::Start { .. } => None,
            Source::Execution { id, .. } => Some(id),
        }
    }

    /// Attach with it to get what comes after the last event that was given out.
    #[must_use]
    pub fn position(&self) -> From {
        match &self.source {
            Source::Start { .. } => From::Beginning,
            Source::Execution { from, .. } => from.clone(),
        }
    }

    /// What keeps events from coming just now, such as a server that cannot be reached; none while all is
    /// well. [`Events::next`] goes on trying meanwhile.
    #[must_use]
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.trouble.subscribe()
    }

    /// After a closing `backgrounded`: what comes next is how it goes on there, up to its end.
    pub fn go_on(&mut self) {
        self.finished = false;
        self.view = None;
    }

    /// The next event, or none after the closing one. Waits as long as the execution goes on, and
    /// takes a broken view up again for as long as the client's patience lasts.
    ///
    /// Cancel-safe: a dropped call loses no event.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] where the server refuses the start or the view,
    /// [`ClientError::StartUnknown`] and [`ClientError::ViewLost`] where patience ended. The outcome of
    /// a command whose events end in an error is not known, and must not be taken for a success.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        while !self.finished {
            match self.step().await {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(error) => {
                    self.view = None;
                    if let Some(began) = self.began.take() {
                        self.backoff.held_since(began);
                    }
                    self.pause_after(error).await?;
                }
            }
        }
        Ok(None)
    }

    /// One event of the view, opened if need be; none for an event that is not new.
    async fn step(&mut self) -> Result<Option<Event>, ClientError> {
        if self.view.is_none() {
            self.view = Some(self.open().await?);
        }
        let Some(view) = &mut self.view else {
            return Ok(None);
        };
        let mut event = match view.next().await {
            Ok(Some(event)) => event,
            Ok(None) => return Err(self.client.transport("the view ended before the execution did")),
            Err(status) => return Err(self.client.error(&status)),
        };
        self.began.get_or_insert_with(Instant::now);
        self.trouble.send_if_modified(|trouble| trouble.take().is_some());
        self.adopt_id(&event);
        match self.seen.admit(&mut event) {
            Admission::Old => Ok(None),
            Admission::Broken(what) => Err(self.client.contract(what)),
            Admission::New => {
                self.backoff.reset();
                if let Source::Execution { from, .. } = &mut self.source {
                    *from = From::Cursor(event.cursor.clone());
                }
                self.finished = matches!(event.event, Some(Kind::Finished(_) | Kind::Backgrounded(_)));
                Ok(Some(event))
            }
        }
    }

    async fn open(&mut self) -> Result<View, ClientError> {
        let mut client =
            ExecutionServiceClient::new(self.client.views()).max_decoding_message_size(super::ANSWER_BYTES);
        let opening = async {
            match &mut self.source {
                Source::Start { spec, sent } => {
                    let spec = Some((**spec).clone());
                    *sent = true;
                    let answer = client.run(v1::ExecutionServiceRunRequest { spec }).await?;
                    Ok(View::Run(answer.into_inner()))
                }
                Source::Execution { id, from } => {
                    let request =
                        v1::ExecutionServiceAttachRequest { execution_id: id.clone(), from: wire_from(from) };
                    Ok(View::Attach(client.attach(request).await?.into_inner()))
                }
            }
        };
        match tokio::time::timeout(super::OPEN_TIMEOUT, opening).await {
            Ok(Ok(view)) => Ok(view),
            Ok(Err(status)) => Err(self.client.error(&status)),
            Err(_) => Err(self.client.transport("the view was not opened in time")),
        }
    }

    /// From the first event on, the execution is known, and is attached to instead of started again.
    fn adopt_id(&mut self, event: &Event) {
        let (Source::Start { .. }, Some(Kind::Opened(opened))) = (&self.source, &event.event) else {
            return;
        };
        if let Some(execution) = &opened.execution {
            self.source = Source::Execution { id: execution.execution_id.clone(), from: From::Beginning };
        }
    }

    /// Pauses if `error` may pass.
    async fn pause_after(&mut self, error: ClientError) -> Result<(), ClientError> {
        let patience = self.client.patience();
        let limit = match &self.source {
            Source::Start { .. } => patience.call,
            Source::Execution { .. } => patience.view,
        };
        if !self.may_pass(&error) {
            return Err(error);
        }
        let Some(pause) = self.backoff.pause(&error, limit) else {
            return Err(self.out_of_patience(error));
        };
        self.trouble.send_replace(Some(error.to_string()));
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn may_pass(&self, error: &ClientError) -> bool {
        // What runs already is only read, so that a full server and a confused view are waited for too.
        let reading = matches!(self.source, Source::Execution { .. })
            && (error.code() == Some(Code::ResourceExhausted)
                || matches!(error, ClientError::Contract { .. }));
        error.is_passing() || reading
    }

    fn out_of_patience(&self, last: ClientError) -> ClientError {
        match &self.source {
            Source::Start { spec, sent: true } if last.rejection().is_none() => {
                ClientError::StartUnknown { request_id: spec.request_id.clone(), last: Box::new(last) }
            }
            Source::Start { .. } => last,
            Source::Execution { id, from } => ClientError::ViewLost {
                execution_id: id.clone(),
                cursor: match from {
                    From::Cursor(cursor) => cursor.to_vec(),
                    From::Beginning | From::Offsets { .. } => Vec::new(),
                },
                last: Box::new(last),
            },
        }
    }
}

fn wire_from(from: &From) -> Option<WireFrom> {
    match from {
        From::Beginning => None,
        From::Cursor(cursor) => Some(WireFrom::Cursor(cursor.clone())),
        From::Offsets { stdout, stderr } => {
            Some(WireFrom::Offsets(v1::OutputOffsets { stdout: *stdout, stderr: *stderr }))
        }
    }
}

#[cfg(test)]
mod tests;
