//! The stream of a process: its start, output and end. The end of the stream does not end the process.

use std::{sync::Arc, time::Duration};

use airlock_client::{
    ClientError, Events, text,
    v1::{Event as AirlockEvent, Execution, ExecutionState, OutputStream, event::Event as Kind},
};
use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until};

use super::{call::Stream, outcome};
use crate::{
    process::{New, Process},
    refusal::{Kind as Why, Refusal},
    wire::{
        Base64, Empty,
        process::{Data, Event, EventResponse},
    },
};

/// The reasons of refused starts that name the execution of the denied command.
const DENIED: [&str; 2] = ["DENIED", "APPROVAL_REQUIRED"];

/// The process of a stream.
pub(super) enum Of {
    /// A process that the first event adds to the table.
    New(New),
    Known(Arc<Process>),
}

/// Follows a process until it ends, the caller reads no more, or a limit is reached.
pub(super) async fn follow(stream: Stream, mut events: Events, of: Of) {
    let Stream { call, limit, .. } = &stream;
    let (keepalive, ended) = (call.keepalive(), call.sandbox.ended.clone());
    let has_terminal = match &of {
        Of::New(new) => new.has_terminal,
        Of::Known(process) => process.has_terminal,
    };
    let mut follower = Follower {
        stream: &stream,
        of: Some(of),
        process: None,
        has_terminal,
        marker: text::Marker::default(),
    };
    let result = tokio::select! {
        result = follower.run(&mut events, keepalive) => result,
        () = sleep(*limit) => {
            Err(Refusal::new(Why::Late, "the stream reached its time limit; the command may still run"))
        }
        () = ended.cancelled() => Err(Refusal::gone()),
    };
    let result = match result {
        Ok(End::Finished) => Ok(()),
        // Nobody reads an end.
        Ok(End::Left) => return,
        Err(refusal) => Err(call.noticed(refusal)),
    };
    stream.sink.finish(result).await;
}

/// The reason why a stream ends without an error.
enum End {
    /// The process has ended.
    Finished,
    /// The caller reads no more.
    Left,
}

struct Follower<'a> {
    stream: &'a Stream,
    /// The process, until the first event.
    of: Option<Of>,
    process: Option<Arc<Process>>,
    has_terminal: bool,
    /// Marks lines of the output that look like Airlock's.
    marker: text::Marker,
}

impl Follower<'_> {
    async fn run(&mut self, events: &mut Events, keepalive: Duration) -> Result<End, Refusal> {
        let mut next = Instant::now() + keepalive;
        loop {
            // Before the first event, the process has no ID, and a caller that leaves could not find it again.
            let has_begun = self.process.is_some();
            tokio::select! {
                event = events.next() => {
                    let sent = match event {
                        Ok(Some(AirlockEvent { event: Some(Kind::Finished(finished)), .. })) => {
                            return self.finish(finished.execution).await;
                        }
                        Ok(Some(event)) => self.event(events, event).await,
                        Ok(None) => return Err(Refusal::internal("the output ended before the command did")),
                        Err(error) => return self.failed(error).await,
                    };
                    if !sent {
                        return Ok(End::Left);
                    }
                    next = Instant::now() + keepalive;
                }
                () = sleep_until(next), if has_begun => {
                    if !self.send(Event::Keepalive(Empty {})).await {
                        return Ok(End::Left);
                    }
                    next = Instant::now() + keepalive;
                }
                () = self.stream.sink.closed(), if has_begun => return Ok(End::Left),
            }
        }
    }

    /// Sends an event. Returns false if the caller reads no more.
    async fn event(&mut self, events: &mut Events, event: AirlockEvent) -> bool {
        match event.event {
            Some(Kind::Opened(opened)) => match opened.execution {
                Some(execution) => self.begin(&execution).await,
                None => true,
            },
            Some(Kind::Output(output)) => self.output(output.stream(), output.data).await,
            Some(Kind::Gap(gap)) => {
                let lost = gap.to.saturating_sub(gap.from);
                self.tell(&format!("{}{lost} bytes of the output are no longer held\n", text::PREFIX)).await
            }
            Some(Kind::StateChanged(change)) if change.state() == ExecutionState::PendingApproval => {
                let id = &change.approval_id;
                self.tell(&format!("{}waits for the approval {id}\n", text::PREFIX)).await
            }
            Some(Kind::Backgrounded(_)) => {
                events.go_on();
                true
            }
            _ => true,
        }
    }

    /// Sends the first event. A view that is opened again has it once more.
    async fn begin(&mut self, execution: &Execution) -> bool {
        let process = match self.of.take() {
            None => return true,
            Some(Of::Known(process)) => process,
            Some(Of::New(new)) => {
                let id = execution.execution_id.clone();
                self.stream.call.sandbox.processes.add(New { execution: id, ..new })
            }
        };
        let pid = process.pid;
        self.process = Some(process);
        let started = self.send(Event::Start { pid }).await;
        if started && execution.state() == ExecutionState::PendingApproval {
            let id = &execution.approval_id;
            return self.tell(&format!("{}waits for the approval {id}\n", text::PREFIX)).await;
        }
        started
    }

    async fn output(&mut self, stream: OutputStream, data: Bytes) -> bool {
        if self.has_terminal {
            return self.send(Event::Data(Data::Pty(Base64(data)))).await;
        }
        match stream {
            OutputStream::Stderr => {
                let marked = self.marker.push(&data);
                self.send_errors(marked).await
            }
            OutputStream::Stdout | OutputStream::Unspecified => {
                self.send(Event::Data(Data::Stdout(Base64(data)))).await
            }
        }
    }

    async fn send_errors(&self, data: Vec<u8>) -> bool {
        data.is_empty() || self.send(Event::Data(Data::Stderr(Base64(data.into())))).await
    }

    /// Sends a text of Airlock: on standard error, or on the terminal.
    async fn tell(&mut self, text: &str) -> bool {
        if text.is_empty() {
            return true;
        }
        if self.has_terminal {
            let lines = text.replace('\n', "\r\n");
            return self.send(Event::Data(Data::Pty(Base64(lines.into())))).await;
        }
        self.send_errors(text.as_bytes().to_vec()).await
    }

    async fn send(&self, event: Event) -> bool {
        self.stream.sink.send(&EventResponse { event }).await
    }

    async fn finish(&mut self, execution: Option<Execution>) -> Result<End, Refusal> {
        let mut execution = execution.ok_or_else(|| Refusal::internal("the end has no execution"))?;
        if let Some(process) = &self.process {
            process.end();
        }
        let mut outcome = outcome::of(&execution);
        let denied = outcome.end.as_ref().is_ok_and(|end| end.exit_code == outcome::DENIED && !end.exited);
        if denied {
            // The last event does not have the decision.
            execution = self.stream.call.sandbox.client().execution(&execution.execution_id).await?;
            outcome = outcome::of(&execution);
        }
        let held = self.marker.finish();
        self.send_errors(held).await;
        self.tell(&outcome.text).await;
        let end = outcome.end?;
        self.send(Event::End(end)).await;
        Ok(End::Finished)
    }

    /// Reports a denied command as a process that ended at once. Returns every other error.
    async fn failed(&mut self, error: ClientError) -> Result<End, Refusal> {
        let denied = error.rejection().filter(|no| DENIED.contains(&no.reason.as_str()));
        let Some(id) = denied.and_then(|rejection| rejection.execution_id.clone()) else {
            return Err(error.into());
        };
        let execution = self.stream.call.sandbox.client().execution(&id).await?;
        self.begin(&execution).await;
        self.finish(Some(execution)).await
    }
}
