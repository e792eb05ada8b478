//! A fake runner that sends arbitrary messages to a real server, with a real runner's certificate.

use std::time::Duration;

use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{
        self as wire, ConnectRequest, ConnectResponse, PushOutputRequest, PushOutputResponse,
        connect_request::Message as Up, connect_response::Message as Down,
        push_output_request::Message as PushUp, push_output_response::Message as PushDown,
        runner_link_client::RunnerLinkClient,
    },
    v1,
};
use airlock_tests::{pki::Pair, site::PATIENCE};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Status, Streaming,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::hostile::fixture::Fixture;

const QUEUE: usize = 256;

/// Opens a channel to the fixture's server with this certificate.
pub(crate) async fn channel(fixture: &Fixture, pair: &Pair) -> Channel {
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(read(&fixture.site.pki.ca())))
        .identity(Identity::from_pem(read(&pair.certificate), read(&pair.key)))
        .domain_name("localhost");
    let address = format!("https://localhost:{}", fixture.site.address.port());
    Endpoint::from_shared(address).unwrap().tls_config(tls).unwrap().connect().await.unwrap()
}

/// Returns an honest Hello of a runner.
pub(crate) fn hello(runner_id: &str) -> wire::Hello {
    wire::Hello {
        protocol_version: LINK_PROTOCOL_VERSION,
        runner_id: runner_id.to_owned(),
        epoch: uuid::Uuid::new_v4().to_string(),
        version: "0.0.0".to_owned(),
        slots: 16,
        bases: vec!["only-here".to_owned()],
        ..Default::default()
    }
}

/// A control stream.
pub(crate) struct FakeRunner {
    pub(crate) client: RunnerLinkClient<Channel>,
    pub(crate) epoch: String,
    pub(crate) outgoing: mpsc::Sender<ConnectRequest>,
    pub(crate) incoming: Streaming<ConnectResponse>,
}

/// Opens a control stream that starts with these messages, and returns the response.
pub(crate) async fn connect(channel: Channel, first: Vec<Option<Up>>) -> Result<FakeRunner, Status> {
    let mut client = RunnerLinkClient::new(channel);
    let (outgoing, queue) = mpsc::channel(QUEUE);
    let mut epoch = String::new();
    for message in first {
        if let Some(Up::Hello(hello)) = &message {
            epoch.clone_from(&hello.epoch);
        }
        outgoing.send(ConnectRequest { message }).await.unwrap();
    }
    let answer = timeout(PATIENCE, client.connect(ReceiverStream::new(queue))).await.unwrap()?;
    Ok(FakeRunner { client, epoch, outgoing, incoming: answer.into_inner() })
}

impl FakeRunner {
    /// Returns `runner-2`, connected and reconciled without jobs.
    pub(crate) async fn linked(fixture: &Fixture) -> Self {
        let channel = channel(fixture, &fixture.site.pki.issue("runner-2", &[])).await;
        let first = vec![Some(Up::Hello(hello("runner-2"))), Some(Up::Reconciled(wire::Reconciled {}))];
        let mut runner = connect(channel, first).await.unwrap();
        runner.until(|message| matches!(message, Down::Welcome(_)).then_some(())).await;
        runner
    }

    pub(crate) async fn say(&self, message: Up) {
        drop(self.outgoing.send(ConnectRequest { message: Some(message) }).await);
    }

    /// Waits for a message of the server, and sends heartbeats meanwhile.
    pub(crate) async fn until<T>(&mut self, mut wanted: impl FnMut(&Down) -> Option<T>) -> T {
        let look = async {
            loop {
                let message = tokio::select! {
                    message = self.incoming.message() => message.unwrap().expect("the link is held"),
                    () = tokio::time::sleep(Duration::from_secs(1)) => {
                        self.say(Up::Heartbeat(wire::Heartbeat { clock_ms: 1, running: 0 })).await;
                        continue;
                    }
                };
                if let Some(found) = wanted(&message.message.unwrap()) {
                    return found;
                }
            }
        };
        timeout(PATIENCE, look).await.unwrap()
    }

    /// Waits until the server has processed all earlier messages of the link. The server processes them in order, and
    /// responds to the last one, a report of an unknown execution. Returns the ID of that execution.
    pub(crate) async fn is_heard(&mut self) -> String {
        let unknown = uuid::Uuid::now_v7().to_string();
        self.say(Up::Job(self.report(&unknown, 1, wire::JobPhase::Running))).await;
        self.until(|message| {
            matches!(message, Down::EndJob(end) if end.execution_id == unknown).then_some(())
        })
        .await;
        unknown
    }

    /// Returns the status with which the server ends the link.
    pub(crate) async fn end(mut self) -> Status {
        let end = async {
            loop {
                match self.incoming.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Status::ok("ended"),
                    Err(status) => return status,
                }
            }
        };
        timeout(PATIENCE, end).await.unwrap()
    }

    pub(crate) fn report(&self, execution_id: &str, attempt: u32, phase: wire::JobPhase) -> wire::JobReport {
        use wire::JobPhase::{Ended, Lost, Refused};
        wire::JobReport {
            execution_id: execution_id.to_owned(),
            attempt,
            epoch: self.epoch.clone(),
            phase: phase.into(),
            result: matches!(phase, Ended | Lost | Refused).then(|| exited(0, 0)),
        }
    }

    /// Acts as an honest runner until an execution runs: opens the session, accepts, reports RUNNING.
    pub(crate) async fn takes_one(&mut self) -> wire::StartJob {
        let open = self
            .until(|message| match message {
                Down::OpenSession(open) => Some(open.clone()),
                _ => None,
            })
            .await;
        let report = wire::SessionReport {
            session_id: open.session_id,
            phase: wire::SessionPhase::Open.into(),
            directory: "/workspace".into(),
            ..Default::default()
        };
        self.say(Up::Session(report)).await;
        let job = self
            .until(|message| match message {
                Down::StartJob(job) => Some(job.clone()),
                _ => None,
            })
            .await;
        for phase in [wire::JobPhase::Accepted, wire::JobPhase::Running] {
            self.say(Up::Job(self.report(&job.execution_id, job.attempt, phase))).await;
        }
        job
    }

    /// Returns the next ticket for an execution's output.
    pub(crate) async fn ticket(&mut self, execution_id: &str) -> String {
        self.until(|message| match message {
            Down::OpenOutput(open) if open.execution_id == execution_id => Some(open.ticket.clone()),
            _ => None,
        })
        .await
    }

    /// Opens an output stream with this Hello.
    pub(crate) async fn push(&self, hello: Option<PushUp>) -> Result<FakePush, Status> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        outgoing.send(PushOutputRequest { message: hello }).await.unwrap();
        let mut client = self.client.clone();
        let answer = timeout(PATIENCE, client.push_output(ReceiverStream::new(queue))).await.unwrap()?;
        Ok(FakePush { outgoing, incoming: answer.into_inner() })
    }
}

/// Returns the result of a command that exited with this code and wrote this number of bytes.
pub(crate) fn exited(code: i32, stdout_bytes: u64) -> v1::Result {
    let detail = Some(v1::cause::Detail::Exited(v1::cause::Exited { code }));
    v1::Result {
        cause: Some(v1::Cause { code: v1::CauseCode::Exited.into(), message: String::new(), detail }),
        started: v1::Started::Yes.into(),
        directory: "/workspace".into(),
        directory_report: v1::DirectoryReport::NotKept.into(),
        cpu_time: Some(prost_types::Duration::default()),
        run_time: Some(prost_types::Duration::default()),
        stdout_bytes,
        ..Default::default()
    }
}

/// An output stream.
pub(crate) struct FakePush {
    pub(crate) outgoing: mpsc::Sender<PushOutputRequest>,
    pub(crate) incoming: Streaming<PushOutputResponse>,
}

impl FakePush {
    pub(crate) async fn say(&self, message: PushUp) {
        drop(self.outgoing.send(PushOutputRequest { message: Some(message) }).await);
    }

    /// Returns the next read that the server requests, or `None` at the end of the stream.
    pub(crate) async fn read(&mut self) -> Option<wire::Read> {
        let next = async {
            loop {
                match self.incoming.message().await.ok()??.message.unwrap() {
                    PushDown::Read(read) => return Some(read),
                    PushDown::Cancel(_) => {}
                }
            }
        };
        timeout(PATIENCE, next).await.unwrap()
    }

    /// Waits for the end of the stream, and returns its status.
    pub(crate) async fn end(mut self) -> Status {
        let end = async {
            loop {
                match self.incoming.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Status::ok("ended"),
                    Err(status) => return status,
                }
            }
        };
        timeout(PATIENCE, end).await.unwrap()
    }
}
