//! A simulated runner that a test controls message by message, and one that runs on its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_domain::{
    Capability, Cause, DirectoryReport, Epoch, ExecutionId, ExecutionResult, FromRunner, JobPhase, JobReport,
    NetworkRules, RunnerHello, SessionId, SessionPhase, SessionReport, SessionSnapshot, StartJob, Started,
    ToRunner,
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{PATIENCE, World};
pub(crate) use crate::testing::hello;
use crate::{
    links::{LinkHandle, LinkRefusal},
    services::Services,
};

pub(crate) struct Runner {
    pub(crate) handle: LinkHandle,
    outgoing: mpsc::Receiver<ToRunner>,
    pub(crate) epoch: Epoch,
    /// The sessions on this host, which outlive links and processes.
    held: Arc<Mutex<Vec<SessionId>>>,
}

impl Runner {
    /// Connects the runner `r` without jobs.
    pub(crate) async fn ready(world: &World) -> Self {
        let mut runner = Self::connect(world, hello("r", Epoch::new())).await.unwrap();
        runner.reconciled().await;
        runner
    }

    /// Connects a runner without completing its initial reports.
    pub(crate) async fn connect(world: &World, hello: RunnerHello) -> Result<Self, LinkRefusal> {
        Self::to(&world.services, world, hello).await
    }

    /// Connects a runner to another server of the same store.
    pub(crate) async fn to(
        services: &Services,
        world: &World,
        hello: RunnerHello,
    ) -> Result<Self, LinkRefusal> {
        let epoch = hello.epoch;
        let mut handle = services.links.connect(hello).await?;
        let mut outgoing = handle.outgoing().unwrap();
        let welcome = outgoing.recv().await.unwrap();
        assert!(matches!(welcome, ToRunner::Welcome { .. }), "{welcome:?}");
        Ok(Self { handle, outgoing, epoch, held: world.held.clone() })
    }

    /// Connects the same epoch on a new link.
    pub(crate) async fn again(world: &World, epoch: Epoch) -> Self {
        Self::connect(world, hello("r", epoch)).await.unwrap()
    }

    /// Connects a new epoch after a crash of the host, which may have lost the end of the journal.
    pub(crate) async fn after_host_crash(world: &World) -> Self {
        Self::with_a_new_journal(world, &[]).await
    }

    /// Connects a new epoch with a journal that began with these epochs.
    pub(crate) async fn with_a_new_journal(world: &World, vouched: &[Epoch]) -> Self {
        let lost_tail =
            Capability { name: "journal_intact".to_owned(), enforced: false, detail: String::new() };
        let (capabilities, vouched_epochs) = (vec![lost_tail], vouched.to_vec());
        let hello = RunnerHello { capabilities, vouched_epochs, ..hello("r", Epoch::new()) };
        Self::connect(world, hello).await.unwrap()
    }

    /// Reports every session, and that there are no further jobs.
    pub(crate) async fn reconciled(&mut self) {
        let held = self.held.lock().unwrap().clone();
        for session_id in held {
            let phase = SessionPhase::Open {
                directory: b"/workspace".to_vec(),
                snapshot: SessionSnapshot::default(),
            };
            self.say(FromRunner::Session(SessionReport { session_id, phase })).await;
        }
        self.say(FromRunner::Reconciled).await;
    }

    pub(crate) async fn say(&mut self, message: FromRunner) {
        self.handle.received(message).await.unwrap();
    }

    /// Waits for the next message other than a heartbeat.
    pub(crate) async fn next(&mut self) -> ToRunner {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.outgoing.recv()).await.unwrap().unwrap();
            if message != ToRunner::Heartbeat {
                return message;
            }
        }
    }

    /// Waits for a heartbeat of the server.
    pub(crate) async fn hears_heartbeat(&mut self) {
        let heard = async { while self.outgoing.recv().await.unwrap() != ToRunner::Heartbeat {} };
        tokio::time::timeout(PATIENCE, heard).await.unwrap();
    }

    /// Answers every probe received so far, and discards other messages.
    pub(crate) async fn answer_probes(&mut self) {
        while let Ok(message) = self.outgoing.try_recv() {
            if let ToRunner::Probe { number } = message {
                self.say(FromRunner::Probed { number }).await;
            }
        }
    }

    /// Checks that no message arrives for a while.
    pub(crate) async fn silence(&mut self) {
        let wait = Duration::from_millis(300);
        match tokio::time::timeout(wait, self.outgoing.recv()).await {
            Err(_) | Ok(Some(ToRunner::Heartbeat)) => {}
            Ok(other) => panic!("{other:?}"),
        }
    }

    pub(crate) async fn next_job(&mut self) -> StartJob {
        match self.next().await {
            ToRunner::StartJob(job) => *job,
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the network of a session, with the version of the session.
    pub(crate) async fn new_network(&mut self) -> (u64, Option<NetworkRules>) {
        match self.next().await {
            ToRunner::SetSessionNetwork { version, network, .. } => (version, network),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn expect_end(&mut self, id: ExecutionId) -> Cause {
        match self.next().await {
            ToRunner::EndJob { execution_id, cause } if execution_id == id => cause,
            other => panic!("{other:?}"),
        }
    }

    /// Answers `OpenSession`.
    pub(crate) async fn open_session(&mut self) {
        let ToRunner::OpenSession { session_id, .. } = self.next().await else {
            panic!("no session was requested")
        };
        self.opened(session_id).await;
    }

    pub(crate) async fn opened(&mut self, session_id: SessionId) {
        self.opened_with(session_id, SessionSnapshot::default()).await;
    }

    /// Reports that a session is open, with this snapshot.
    pub(crate) async fn opened_with(&mut self, session_id: SessionId, snapshot: SessionSnapshot) {
        self.held.lock().unwrap().push(session_id);
        let phase = SessionPhase::Open { directory: b"/workspace".to_vec(), snapshot };
        self.say(FromRunner::Session(SessionReport { session_id, phase })).await;
    }

    /// Reports an open session in this directory.
    pub(crate) async fn has_session_in(&mut self, session_id: SessionId, directory: &[u8]) {
        let phase =
            SessionPhase::Open { directory: directory.to_vec(), snapshot: SessionSnapshot::default() };
        self.say(FromRunner::Session(SessionReport { session_id, phase })).await;
    }

    /// Answers `CloseSession`.
    pub(crate) async fn close_session(&mut self) -> SessionId {
        let ToRunner::CloseSession { session_id } = self.next().await else {
            panic!("no close was requested")
        };
        self.held.lock().unwrap().retain(|held| *held != session_id);
        self.say(FromRunner::Session(SessionReport { session_id, phase: SessionPhase::Closed })).await;
        session_id
    }

    pub(crate) async fn report(&mut self, job: &StartJob, phase: JobPhase, result: Option<ExecutionResult>) {
        self.say(FromRunner::Job(report(job, phase, result))).await;
    }

    pub(crate) async fn accept(&mut self, job: &StartJob) {
        self.report(job, JobPhase::Accepted, None).await;
    }

    pub(crate) async fn runs(&mut self, job: &StartJob) {
        self.report(job, JobPhase::Running, None).await;
    }

    /// Ends a job in another directory.
    pub(crate) async fn ends_elsewhere(&mut self, job: &StartJob) {
        let result = ExecutionResult {
            directory: b"/workspace/elsewhere".to_vec(),
            directory_report: DirectoryReport::Reported,
            ..exited(0)
        };
        self.report(job, JobPhase::Ended, Some(result)).await;
    }

    pub(crate) async fn ends(&mut self, job: &StartJob, code: u8) {
        self.report(job, JobPhase::Ended, Some(exited(code))).await;
    }

    pub(crate) async fn refuses(&mut self, job: &StartJob, reason: &str) {
        let cause = Cause::refused(reason, "no".to_owned());
        self.report(job, JobPhase::Refused, Some(ExecutionResult::not_started(cause))).await;
    }

    /// Takes the next job and reports it up to `RUNNING`.
    pub(crate) async fn take(&mut self) -> StartJob {
        let job = self.next_job().await;
        self.accept(&job).await;
        self.runs(&job).await;
        job
    }
}

fn report(job: &StartJob, phase: JobPhase, result: Option<ExecutionResult>) -> JobReport {
    JobReport { execution_id: job.execution_id, attempt: job.attempt, epoch: job.epoch, phase, result }
}

/// Returns the result of a command that exited with this code without changing the directory.
pub(crate) fn exited(code: u8) -> ExecutionResult {
    ExecutionResult {
        started: Started::Yes,
        directory: b"/workspace".to_vec(),
        directory_report: DirectoryReport::Unchanged,
        stdout_bytes: 3,
        ..ExecutionResult::not_started(Cause::Exited { code })
    }
}

/// A runner that runs all jobs concurrently and counts how often it ran each.
pub(crate) struct Auto {
    pub(crate) ran: Arc<Mutex<HashMap<ExecutionId, u32>>>,
    /// The maximum number of concurrent jobs so far.
    pub(crate) most: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Auto {
    pub(crate) async fn connect(world: &World, name: &str) -> Self {
        let mut runner = Runner::connect(world, hello(name, Epoch::new())).await.unwrap();
        runner.reconciled().await;
        let (ran, most) = (Arc::default(), Arc::default());
        let task = tokio::spawn(serve(runner, Arc::clone(&ran), Arc::clone(&most)));
        Self { ran, most, task }
    }
}

impl Drop for Auto {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut runner: Runner, ran: Arc<Mutex<HashMap<ExecutionId, u32>>>, most: Arc<Mutex<usize>>) {
    let (done, mut ended) = mpsc::channel::<StartJob>(64);
    let mut running = 0;
    loop {
        tokio::select! {
            message = runner.outgoing.recv() => match message {
                None => return,
                Some(ToRunner::OpenSession { session_id, .. }) => runner.opened(session_id).await,
                Some(ToRunner::CloseSession { session_id }) => {
                    let report = SessionReport { session_id, phase: SessionPhase::Closed };
                    runner.say(FromRunner::Session(report)).await;
                }
                Some(ToRunner::StartJob(job)) => {
                    *ran.lock().unwrap().entry(job.execution_id).or_default() += 1;
                    runner.accept(&job).await;
                    runner.runs(&job).await;
                    running += 1;
                    let mut most = most.lock().unwrap();
                    *most = running.max(*most);
                    let done = done.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                        let _ = done.send(*job).await;
                    });
                }
                Some(_) => {}
            },
            Some(job) = ended.recv() => {
                running -= 1;
                runner.ends(&job, 0).await;
            }
        }
    }
}
