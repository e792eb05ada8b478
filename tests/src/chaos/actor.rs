//! One scripted execution: a command whose every byte is known before, who reads it from its beginning, and what
//! must be true of it in the end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_cli::client::{
    Client, ClientError, From,
    v1::{
        self,
        approval_service_decide_request::{AllowOnce, Answer},
    },
};
use tokio::task::JoinHandle;

use super::ledger::Ledger;
use crate::{
    reader::{cause, exit_code, spec_in},
    site::PATIENCE,
};

const POLL: Duration = Duration::from_millis(20);
/// The gate that commands wait at before they end.
pub const GATE: &str = "go";
/// In bash: waits at the gate.
pub const WAIT: &str = "until [ -e /workspace/go ]; do sleep 0.1; done";

/// How a command ends where no fault is in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Exit(i32),
    /// Because its client asked for it.
    Cancelled,
}

/// What is played.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name; what it writes to `ran.txt` when it begins.
    pub name: String,
    /// What follows on that, in bash.
    pub body: String,
    /// All of its stdout.
    pub stdout: Vec<u8>,
    /// All of its stderr, kept apart where there is any.
    pub stderr: Vec<u8>,
    /// How it ends.
    pub ending: Ending,
    /// Whether a person is asked before, by a rule of the profile.
    pub asks: bool,
    /// Whether it waits where its profile has no rule for it.
    pub on_ask: bool,
    /// Whether it is in its session's order.
    pub serial: bool,
    /// What it is given to read.
    pub stdin: Option<Vec<u8>>,
}

impl Part {
    /// A part beside all others, which ends with exit code 7.
    #[must_use]
    pub fn new(name: impl Into<String>, body: impl Into<String>, stdout: Vec<u8>) -> Self {
        let (name, body) = (name.into(), body.into());
        let (stderr, ending) = (Vec::new(), Ending::Exit(7));
        Self { name, body, stdout, stderr, ending, asks: false, on_ask: false, serial: false, stdin: None }
    }

    /// The request that plays it; `key` makes its `request_id`.
    #[must_use]
    pub fn spec(&self, session: &str, key: &str) -> v1::ExecutionSpec {
        let asked = if self.asks { "printf approval >/dev/null; " } else { "" };
        let command = format!("{asked}echo {} >> /workspace/ran.txt; {}", self.name, self.body);
        v1::ExecutionSpec {
            request_id: format!("{key}-{}", self.name),
            on_ask: if self.asks || self.on_ask { v1::OnAsk::Wait } else { v1::OnAsk::Fail }.into(),
            allow_concurrent: !self.serial,
            separate_stderr: !self.stderr.is_empty(),
            stdin: self.stdin.is_some(),
            ..spec_in(session, &command)
        }
    }

    /// Holds an end against the script: the cause, the bytes, and how often it ran.
    ///
    /// # Panics
    /// If they do not agree.
    pub fn agrees(&self, end: &v1::Execution, told: &Ledger, ran: u32, permits: Permits) {
        let name = &self.name;
        let result = end.result.as_ref().expect("an end has a result");
        let as_written = match self.ending {
            Ending::Exit(code) => exit_code(end) == Some(code),
            Ending::Cancelled => cause(end) == v1::CauseCode::Cancelled,
        };
        let by_fault = match cause(end) {
            v1::CauseCode::RunnerLost => permits.lost,
            v1::CauseCode::Cancelled | v1::CauseCode::Refused => permits.drained,
            _ => false,
        };
        assert!(as_written || by_fault, "{name}: {:?}", result.cause);
        for (told, script) in [(&told.stdout, &self.stdout), (&told.stderr, &self.stderr)] {
            assert!(told.gaps.is_empty(), "{name}: nothing is missing, but {:?}", told.gaps);
            let complete = told.bytes == *script;
            let prefix = (by_fault || self.ending == Ending::Cancelled) && script.starts_with(&told.bytes);
            assert!(complete || prefix, "{name}: {} bytes came, of {}", told.bytes.len(), script.len());
        }
        let lengths = (told.stdout.bytes.len() as u64, told.stderr.bytes.len() as u64);
        let said = (result.stdout_bytes, result.stderr_bytes);
        // Who says that a runner is lost does not know what the command wrote.
        let unknown = cause(end) == v1::CauseCode::RunnerLost && said == (0, 0);
        assert!(unknown || said == lengths, "{name}: {said:?} bytes were said, {lengths:?} came");
        match result.started() {
            v1::Started::No => assert_eq!((ran, lengths), (0, (0, 0)), "{name}: it did not start"),
            v1::Started::Yes if as_written && self.ending != Ending::Cancelled => {
                assert_eq!(ran, 1, "{name}: it ran once");
            }
            _ => assert!(ran <= 1, "{name}: it ran {ran} times"),
        }
    }
}

/// The lines of the numbers `from` to `to`.
#[must_use]
pub fn lines(from: u32, to: u32) -> Vec<u8> {
    (from..=to).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// A part that was started.
#[derive(Debug)]
pub struct Actor {
    /// What it plays.
    pub part: Part,
    /// Its execution.
    pub id: String,
    spec: v1::ExecutionSpec,
    reader: JoinHandle<Result<Ledger, String>>,
    /// Bytes of stdout and stderr together that its reader has.
    told: Arc<AtomicU64>,
}

/// What a fault may do to an execution at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permits {
    /// It may be `RUNNER_LOST`.
    pub lost: bool,
    /// It may be `CANCELLED`, or refused, because its runner ends.
    pub drained: bool,
}

impl Actor {
    /// Starts a part, and reads it from its beginning to its end.
    ///
    /// # Panics
    /// If it is not accepted.
    pub async fn start(client: &Client, session: &str, key: &str, part: Part) -> Self {
        let spec = part.spec(session, key);
        let execution = persist(|| client.start(spec.clone())).await;
        let id = execution.execution_id;
        let told = Arc::new(AtomicU64::new(0));
        let reader = tokio::spawn(follow_and_count(client.clone(), id.clone(), Arc::clone(&told)));
        Self { part, id, spec, reader, told }
    }

    /// Waits until it is in this state, or past it.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn reaches(&self, client: &Client, state: v1::ExecutionState) -> v1::Execution {
        let what = format!("{} comes to {}", self.part.name, state.as_str_name());
        eventually(&what, async || {
            let now = client.execution(&self.id).await.ok()?;
            (i32::from(now.state()) >= i32::from(state)).then_some(now)
        })
        .await
    }

    /// Has a person allow it, unless that was done.
    ///
    /// # Panics
    /// If it cannot be allowed.
    pub async fn allow(&self, client: &Client) {
        self.answer(client, || Answer::AllowOnce(AllowOnce::default())).await;
    }

    /// Has a person answer so, unless that was done.
    ///
    /// # Panics
    /// If it cannot be answered.
    pub async fn answer(&self, client: &Client, answer: impl Fn() -> Answer) {
        eventually(&format!("{} is allowed", self.part.name), async || {
            let page = client.approvals(v1::ApprovalServiceListRequest::default()).await.ok()?;
            let Some(open) = page.approvals.into_iter().find(|open| open.execution_id == self.id) else {
                let now = client.execution(&self.id).await.ok()?;
                return (now.state() != v1::ExecutionState::PendingApproval).then_some(());
            };
            client.decide(answered(&open, answer())).await.ok().map(drop)
        })
        .await;
    }

    /// Sends it to the background, unless it has ended.
    ///
    /// # Panics
    /// If neither happens.
    pub async fn detach(&self, client: &Client) {
        eventually(&format!("{} goes to the background", self.part.name), async || {
            let detached = client.detach(&self.id).await.is_ok();
            (detached || is_finished(client, &self.id).await).then_some(())
        })
        .await;
    }

    /// Asks for its end.
    ///
    /// # Panics
    /// If that is never taken.
    pub async fn cancel(&self, client: &Client) {
        let what = format!("the end of {} is asked for", self.part.name);
        eventually(&what, async || client.cancel(&self.id).await.ok().map(drop)).await;
    }

    /// Gives it all of its input, unless it has ended.
    ///
    /// # Panics
    /// If neither happens.
    pub async fn feed(&self, client: &Client) {
        let Some(input) = &self.part.stdin else { return };
        eventually(&format!("{} has its input", self.part.name), async || {
            let fed = client.write_stdin(&self.id, 0, &mut input.as_slice()).await.is_ok();
            (fed || is_finished(client, &self.id).await).then_some(())
        })
        .await;
    }

    /// Its end, and what its reader was told.
    ///
    /// # Panics
    /// If it has none in time, or its reader lost it.
    pub async fn ended(&mut self, client: &Client) -> (v1::Execution, Ledger) {
        let end = eventually(&format!("{} ends", self.part.name), async || {
            let now = client.wait(&self.id, Duration::from_secs(5)).await.ok()?;
            (now.state() == v1::ExecutionState::Finished).then_some(now)
        })
        .await;
        let told = tokio::time::timeout(PATIENCE, &mut self.reader).await;
        let told = told.unwrap_or_else(|_| panic!("{}: its reader never came to the end", self.part.name));
        (end, told.unwrap().unwrap_or_else(|error| panic!("{}: {error}", self.part.name)))
    }

    /// Bytes that its reader has by now, of both streams.
    #[must_use]
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// The same request again.
    ///
    /// # Errors
    /// As for any start.
    pub async fn again(&self, client: &Client) -> Result<v1::Execution, ClientError> {
        client.start(self.spec.clone()).await
    }
}

/// The answer that allows it once.
#[must_use]
pub fn allow_once(open: &v1::Approval) -> v1::ApprovalServiceDecideRequest {
    answered(open, Answer::AllowOnce(AllowOnce::default()))
}

fn answered(open: &v1::Approval, answer: Answer) -> v1::ApprovalServiceDecideRequest {
    let (approval_id, binding) = (open.approval_id.clone(), open.binding.clone());
    v1::ApprovalServiceDecideRequest { approval_id, binding, answer: Some(answer) }
}

async fn is_finished(client: &Client, id: &str) -> bool {
    client.execution(id).await.is_ok_and(|now| now.state() == v1::ExecutionState::Finished)
}

/// Reads an execution from its beginning to its end, in the background too.
///
/// # Errors
/// If the view is lost for good.
pub async fn follow(client: Client, id: String) -> Result<Ledger, String> {
    follow_and_count(client, id, Arc::default()).await
}

async fn follow_and_count(client: Client, id: String, told: Arc<AtomicU64>) -> Result<Ledger, String> {
    let mut events = client.attach(id, From::Beginning);
    let mut ledger = Ledger::default();
    while ledger.end.is_none() {
        match events.next().await.map_err(|error| error.to_string())? {
            Some(event) => ledger.take(event),
            None => events.go_on(),
        }
        told.store((ledger.stdout.bytes.len() + ledger.stderr.bytes.len()) as u64, Ordering::Release);
    }
    Ok(ledger)
}

/// Makes a call again until the server answers it.
///
/// # Panics
/// If it refuses, or does not answer in time.
pub async fn persist<T>(call: impl AsyncFn() -> Result<T, ClientError>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if tokio::time::Instant::now() > deadline => panic!("{error}"),
            Err(ClientError::Rejected(no)) if !is_passing(no.code) => panic!("{no:?}"),
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

fn is_passing(code: tonic::Code) -> bool {
    matches!(code, tonic::Code::Unavailable | tonic::Code::ResourceExhausted)
}

/// Waits until `look` finds something.
///
/// # Panics
/// If that takes too long.
pub async fn eventually<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(POLL).await;
    }
}
