//! A simulated runner on the wire.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use airlock_domain::{
    Capability, Cause, Epoch, ExecutionId, ExecutionResult, FromRunner, JobPhase, JobReport, PushFromRunner,
    PushToRunner, RunnerHello, SessionPhase, SessionReport, SessionSnapshot, StartJob, Started, ToRunner,
};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{
        ConnectRequest, ConnectResponse, connect_request::Message, runner_link_client::RunnerLinkClient,
    },
    v1::{self, execution_service_client::ExecutionServiceClient},
};
use bytes::Bytes;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, Streaming, transport::Channel};

use crate::{
    PATIENCE,
    edge::{raw::Outcome, world::World},
};

pub(crate) fn hello(runner: &str) -> ConnectRequest {
    FromRunner::Hello(RunnerHello {
        protocol_version: LINK_PROTOCOL_VERSION,
        runner_id: runner.parse().unwrap(),
        epoch: Epoch::new(),
        version: "0.0.0".to_owned(),
        labels: BTreeMap::new(),
        slots: 4,
        bases: vec![],
        capabilities: vec![Capability {
            name: "user_namespaces".to_owned(),
            enforced: true,
            detail: "played".to_owned(),
        }],
        shells: BTreeMap::from([("bash".to_owned(), "5.2".to_owned())]),
        clock_ms: 0,
        vouched_epochs: vec![],
        answers_probes: true,
    })
    .into()
}

/// The events of a run.
pub(crate) type RunStream = Streaming<v1::ExecutionServiceRunResponse>;

/// A link that has sent these messages.
pub(crate) struct Link {
    pub(crate) say: mpsc::Sender<ConnectRequest>,
    heard: Streaming<ConnectResponse>,
    channel: Channel,
    epoch: Epoch,
}

impl Link {
    pub(crate) async fn open(channel: Channel, messages: Vec<ConnectRequest>) -> Result<Self, Status> {
        let epoch = messages.iter().find_map(|message| match &message.message {
            Some(Message::Hello(hello)) => Some(hello.epoch.clone()),
            _ => None,
        });
        let (say, said) = mpsc::channel(16);
        for message in messages {
            say.send(message).await.unwrap();
        }
        // A Hello without a readable epoch is refused by the server.
        let epoch = epoch.and_then(|epoch| epoch.parse().ok()).unwrap_or_else(Epoch::new);
        let heard =
            RunnerLinkClient::new(channel.clone()).connect(ReceiverStream::new(said)).await?.into_inner();
        Ok(Self { say, heard, channel, epoch })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<ToRunner>, Status> {
        let message = timeout(PATIENCE, self.heard.message()).await.unwrap()?;
        Ok(message.map(|message| message.try_into().unwrap()))
    }

    /// Returns the outcome of the link after all other messages.
    pub(crate) async fn end(mut self) -> Outcome {
        loop {
            match self.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok("").into(),
                Err(status) => return status.into(),
            }
        }
    }
}

/// Connects a runner, which also shows that the service continues.
pub(crate) async fn link_up(world: &World) -> Link {
    let mut link = Link::open(world.certified("runner-1"), vec![hello("runner-1")]).await.unwrap();
    let welcome = link.next().await.unwrap();
    assert!(matches!(welcome, Some(ToRunner::Welcome { .. })), "{welcome:?}");
    link.say.send(FromRunner::Reconciled.into()).await.unwrap();
    link
}

async fn until_running(world: &World, id: ExecutionId) {
    let mut executions = ExecutionServiceClient::new(world.plain());
    loop {
        let get = v1::ExecutionServiceGetRequest { execution_id: id.to_string(), ..Default::default() };
        let mut get = Request::new(get);
        get.metadata_mut().insert("authorization", "Bearer executor".parse().unwrap());
        let execution = executions.get(get).await.unwrap().into_inner().execution.unwrap();
        if execution.state() == v1::ExecutionState::Running {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The output of a simulated command.
pub(crate) const OUTPUT: &[u8] = b"hello from the runner\n";

impl Link {
    /// Waits for any message, which shows that the link is open.
    pub(crate) async fn order_or_heartbeat(&mut self) {
        assert!(self.next().await.unwrap().is_some(), "the link ended");
    }

    /// Returns the next message that is not a heartbeat.
    pub(crate) async fn order(&mut self) -> ToRunner {
        loop {
            match self.next().await.unwrap() {
                Some(ToRunner::Heartbeat) => {}
                Some(order) => return order,
                None => panic!("the link ended"),
            }
        }
    }

    pub(crate) async fn tell(&self, message: FromRunner) {
        self.say.send(message.into()).await.unwrap();
    }

    /// Opens requested sessions until the first command arrives, and starts it.
    pub(crate) async fn run_next(&mut self) -> StartJob {
        loop {
            match self.order().await {
                ToRunner::OpenSession { session_id, .. } => {
                    let phase = SessionPhase::Open {
                        directory: b"/workspace".to_vec(),
                        snapshot: SessionSnapshot::default(),
                    };
                    self.tell(FromRunner::Session(SessionReport { session_id, phase })).await;
                }
                // Requested by the view of an earlier command.
                ToRunner::OpenOutput { .. } => {}
                ToRunner::StartJob(job) => {
                    self.report(&job, JobPhase::Accepted, None).await;
                    self.report(&job, JobPhase::Running, None).await;
                    return *job;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Runs a command of a client on this runner, and waits until the server has recorded that it runs.
    /// Retries until the server has the runner's link.
    pub(crate) async fn run(
        &mut self,
        world: &World,
        spec: v1::ExecutionSpec,
        traceparent: Option<&str>,
    ) -> (RunStream, StartJob) {
        self.run_by("executor", world, spec, traceparent).await
    }

    /// Like [`Link::run`], for another identity.
    pub(crate) async fn run_by(
        &mut self,
        token: &str,
        world: &World,
        spec: v1::ExecutionSpec,
        traceparent: Option<&str>,
    ) -> (RunStream, StartJob) {
        loop {
            let run = v1::ExecutionServiceRunRequest { spec: Some(spec.clone()) };
            let mut run = Request::new(run);
            run.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
            if let Some(parent) = traceparent {
                run.metadata_mut().insert("traceparent", parent.parse().unwrap());
            }
            let mut client = ExecutionServiceClient::new(world.plain());
            let (mut stream, mut job) = (None, None);
            let (mut answer, mut work) = (pin!(client.run(run)), pin!(self.run_next()));
            loop {
                tokio::select! {
                    answer = &mut answer, if stream.is_none() => match answer {
                        Ok(answer) => stream = Some(answer.into_inner()),
                        Err(status) if status.code() == Code::Unavailable => break,
                        Err(status) => panic!("{status:?}"),
                    },
                    order = &mut work, if job.is_none() => job = Some(order),
                    else => {
                        let job = job.unwrap();
                        until_running(world, job.execution_id).await;
                        return (stream.unwrap(), job);
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Reports the end of the command with this code and [`OUTPUT`].
    pub(crate) async fn ended(&self, job: &StartJob, code: u8) {
        let result = ExecutionResult {
            started: Started::Yes,
            stdout_bytes: OUTPUT.len() as u64,
            run_time: Duration::from_millis(5),
            ..ExecutionResult::not_started(Cause::Exited { code })
        };
        self.report(job, JobPhase::Ended, Some(result)).await;
    }

    async fn report(&self, job: &StartJob, phase: JobPhase, result: Option<ExecutionResult>) {
        let (execution_id, attempt) = (job.execution_id, job.attempt);
        let report = JobReport { execution_id, attempt, epoch: self.epoch, phase, result };
        self.tell(FromRunner::Job(report)).await;
    }

    /// Answers every read of the output stream with this ticket until the server ends it.
    pub(crate) async fn push(&self, execution: ExecutionId, ticket: String) {
        let (say, said) = mpsc::channel(64);
        let hello = PushFromRunner::Hello {
            runner_id: "runner-1".parse().unwrap(),
            execution_id: execution,
            ticket,
            missing: false,
        };
        say.send(hello.into()).await.unwrap();
        let mut client = RunnerLinkClient::new(self.channel.clone());
        let mut reads = client.push_output(ReceiverStream::new(said)).await.unwrap().into_inner();
        tokio::spawn(async move {
            while let Ok(Some(read)) = reads.message().await {
                let Ok(PushToRunner::Read { read_id, stream, offset, max_bytes, .. }) = read.try_into()
                else {
                    continue;
                };
                let whole = if stream == airlock_domain::OutputStream::Stdout { OUTPUT } else { b"" };
                let rest = whole.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
                let most = usize::try_from(max_bytes).unwrap().min(rest.len());
                let data = Bytes::from_static(rest.get(..most).unwrap_or_default());
                if !data.is_empty() {
                    let _gone = say.send(PushFromRunner::Chunk { read_id, offset, data }.into()).await;
                }
                let total = whole.len() as u64;
                let end = most == rest.len();
                let offset = if end { total } else { offset + most as u64 };
                let done = PushFromRunner::Done { read_id, offset, end, total };
                let _gone = say.send(done.into()).await;
            }
        });
    }
}
