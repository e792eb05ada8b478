//! An execution as a stream of events that survives broken connections. If a view breaks or ends without
//! a closing event, a new view continues after the last event that was returned.

use bytes::Bytes;
use tokio::{sync::watch, time::Instant};
use tonic::{Code, Status, Streaming};

use super::{
    ClientError,
    connection::{ANSWER_BYTES, Connection, OPEN_TIMEOUT},
    position::{Admission, ReaderPosition},
    retry::Retries,
    v1::{
        self, Event, ExecutionSpec, event::Event as Kind, execution_service_attach_request::From as WireFrom,
        execution_service_client::ExecutionServiceClient,
    },
};

/// The position at which a reader starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum From {
    /// The first event.
    #[default]
    Beginning,
    /// The event after the one with this cursor.
    Cursor(Bytes),
    /// All states, and the output from these offsets.
    Offsets {
        /// The offset in standard output, in bytes.
        stdout: u64,
        /// The offset in standard error, in bytes.
        stderr: u64,
    },
}

/// The events of one execution, each exactly once.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
    source: Source,
    view: Option<View>,
    /// The time of the view's first event.
    began: Option<Instant>,
    reader: ReaderPosition,
    retries: Retries,
    finished: bool,
    trouble: watch::Sender<Option<String>>,
}

/// The request that opens the next view.
#[derive(Debug)]
enum Source {
    /// The start has not been confirmed yet.
    Start {
        spec: Box<ExecutionSpec>,
        /// Whether the server may have received the start.
        sent: bool,
    },
    /// The ID of the execution is known.
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
    pub(super) fn run(connection: Connection, spec: ExecutionSpec) -> Self {
        let source = Source::Start { spec: Box::new(spec), sent: false };
        Self::new(connection, source, ReaderPosition::at(0, 0))
    }

    pub(super) fn attach(connection: Connection, id: String, from: From) -> Self {
        let reader = match &from {
            From::Beginning => ReaderPosition::at(0, 0),
            From::Cursor(_) => ReaderPosition::default(),
            From::Offsets { stdout, stderr } => ReaderPosition::at(*stdout, *stderr),
        };
        Self::new(connection, Source::Execution { id, from }, reader)
    }

    fn new(connection: Connection, source: Source, reader: ReaderPosition) -> Self {
        let retries = Retries::new(&connection.patience());
        Self {
            connection,
            source,
            view: None,
            began: None,
            reader,
            retries,
            finished: false,
            trouble: watch::Sender::default(),
        }
    }

    /// Returns the execution's ID, once it is known.
    #[must_use]
    pub fn execution_id(&self) -> Option<&str> {
        match &self.source {
            Source::Start { .. } => None,
            Source::Execution { id, .. } => Some(id),
        }
    }

    /// Returns the position after the last event that was returned, for a later attach.
    #[must_use]
    pub fn position(&self) -> From {
        match &self.source {
            Source::Start { .. } => From::Beginning,
            Source::Execution { from, .. } => from.clone(),
        }
    }

    /// Returns the reason why no events arrive at present, such as an unreachable server, or `None`.
    /// [`Events::next`] continues to retry.
    #[must_use]
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.trouble.subscribe()
    }

    /// Reports whether the server may have received the start.
    pub(super) fn may_have_started(&self) -> bool {
        !matches!(self.source, Source::Start { sent: false, .. })
    }

    /// Continues after a closing `backgrounded` event. The next events follow the execution to its end.
    pub fn go_on(&mut self) {
        self.finished = false;
        self.view = None;
    }

    /// Returns the next event, or `None` after the closing one. Waits while the execution continues, and reopens a
    /// broken view for at most `Patience::view`.
    ///
    /// Cancel-safe: a dropped call loses no event.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the start or the view; [`ClientError::StartUnknown`] or
    /// [`ClientError::ViewLost`] if a time limit of `Patience` is reached. After an error the result of the command is
    /// unknown; do not treat it as a success.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        while !self.finished {
            match self.step().await {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(error) => {
                    self.view = None;
                    if let Some(began) = self.began.take() {
                        self.retries.held_since(began);
                    }
                    self.pause_after(error).await?;
                }
            }
        }
        Ok(None)
    }

    /// Returns one event of the view, which is opened if necessary, or `None` if the event is not new.
    async fn step(&mut self) -> Result<Option<Event>, ClientError> {
        if self.view.is_none() {
            self.view = Some(self.open().await?);
        }
        let Some(view) = &mut self.view else {
            return Ok(None);
        };
        let mut event = match view.next().await {
            Ok(Some(event)) => event,
            Ok(None) => return Err(self.connection.transport("the view ended before the execution did")),
            Err(status) => return Err(self.connection.error(&status)),
        };
        self.began.get_or_insert_with(Instant::now);
        self.trouble.send_if_modified(|trouble| trouble.take().is_some());
        self.adopt_id(&event);
        match self.reader.admit(&mut event) {
            Admission::Old => Ok(None),
            Admission::Broken(what) => Err(self.connection.contract(what)),
            Admission::New => {
                self.retries.reset();
                if let Source::Execution { from, .. } = &mut self.source {
                    *from = From::Cursor(event.cursor.clone());
                }
                self.finished = matches!(event.event, Some(Kind::Finished(_) | Kind::Backgrounded(_)));
                Ok(Some(event))
            }
        }
    }

    async fn open(&mut self) -> Result<View, ClientError> {
        if let Source::Start { spec, .. } = &self.source {
            self.connection.require_network(spec.network.as_ref()).await?;
        }
        let mut client =
            ExecutionServiceClient::new(self.connection.views()).max_decoding_message_size(ANSWER_BYTES);
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
        match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
            Ok(Ok(view)) => Ok(view),
            Ok(Err(status)) => Err(self.connection.error(&status)),
            Err(_) => Err(self.connection.transport("the view did not open in time")),
        }
    }

    /// Takes the execution's ID from the first event. From then on, views attach to it instead of
    /// repeating the start.
    fn adopt_id(&mut self, event: &Event) {
        let (Source::Start { .. }, Some(Kind::Opened(opened))) = (&self.source, &event.event) else {
            return;
        };
        if let Some(execution) = &opened.execution {
            self.source = Source::Execution { id: execution.execution_id.clone(), from: From::Beginning };
        }
    }

    /// Pauses if `error` may pass, otherwise returns it.
    async fn pause_after(&mut self, error: ClientError) -> Result<(), ClientError> {
        let patience = self.connection.patience();
        let limit = match &self.source {
            Source::Start { .. } => patience.call,
            Source::Execution { .. } => patience.view,
        };
        if !self.may_pass(&error) {
            return Err(error);
        }
        let Some(pause) = self.retries.pause(&error, limit) else {
            return Err(self.out_of_patience(error));
        };
        self.trouble.send_replace(Some(error.to_string()));
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn may_pass(&self, error: &ClientError) -> bool {
        // A view of a known execution only reads, so an overloaded server or a contract violation is
        // retried, too.
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
