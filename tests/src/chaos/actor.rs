//! A scripted execution: a command with known output, a reader that reads all of it, and the checks of the result.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_client::{
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
/// The file in the workspace that commands wait for before they end.
pub const GATE: &str = "go";
/// A bash command that waits for this file.
pub const WAIT: &str = "until [ -e /workspace/go ]; do sleep 0.1; done";

/// The end of a command without a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exits with this code.
    Exit(i32),
    /// Its client cancels it.
    Cancelled,
}

/// A scripted command.
#[derive(Debug, Clone)]
pub struct Part {
    /// The name, which the command writes to `ran.txt` when it starts.
    pub name: String,
    /// The rest of the command, in bash.
    pub body: String,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error; it is kept separate unless this is empty.
    pub stderr: Vec<u8>,
    /// The end.
    pub ending: Ending,
    /// Whether a rule of the profile requires an approval.
    pub asks: bool,
    /// Whether it waits for an approval if its profile has no rule for it.
    pub on_ask: bool,
    /// Whether it takes its turn in the session.
    pub serial: bool,
    /// The standard input.
    pub stdin: Option<Vec<u8>>,
}

impl Part {
    /// Creates a command that runs concurrently with all others and exits with 7.
    #[must_use]
    pub fn new(name: impl Into<String>, body: impl Into<String>, stdout: Vec<u8>) -> Self {
        let (name, body) = (name.into(), body.into());
        let (stderr, ending) = (Vec::new(), Ending::Exit(7));
        Self { name, body, stdout, stderr, ending, asks: false, on_ask: false, serial: false, stdin: None }
    }

    /// Returns the request for the command; `key` is part of its `request_id`.
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

    /// Compares a result with the script: the cause, the bytes, and the number of starts.
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
            assert!(told.gaps.is_empty(), "{name}: no byte is missing, but {:?}", told.gaps);
            let complete = told.bytes == *script;
            let prefix = (by_fault || self.ending == Ending::Cancelled) && script.starts_with(&told.bytes);
            assert!(complete || prefix, "{name}: {} of {} bytes arrived", told.bytes.len(), script.len());
        }
        let lengths = (told.stdout.bytes.len() as u64, told.stderr.bytes.len() as u64);
        let said = (result.stdout_bytes, result.stderr_bytes);
        // A server that declares a runner lost does not know the command's output.
        let unknown = cause(end) == v1::CauseCode::RunnerLost && said == (0, 0);
        assert!(unknown || said == lengths, "{name}: {said:?} bytes were reported, {lengths:?} arrived");
        match result.started() {
            v1::Started::No => assert_eq!((ran, lengths), (0, (0, 0)), "{name}: it did not start"),
            v1::Started::Yes if as_written && self.ending != Ending::Cancelled => {
                assert_eq!(ran, 1, "{name}: it ran once");
            }
            _ => assert!(ran <= 1, "{name}: it ran {ran} times"),
        }
    }
}

/// Returns the numbers `from` to `to`, one per line.
#[must_use]
pub fn lines(from: u32, to: u32) -> Vec<u8> {
    (from..=to).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// A started command.
#[derive(Debug)]
pub struct Actor {
    /// The script.
    pub part: Part,
    /// The ID of its execution.
    pub id: String,
    spec: v1::ExecutionSpec,
    reader: JoinHandle<Result<Ledger, String>>,
    /// The number of bytes of both streams that its reader has received.
    told: Arc<AtomicU64>,
}

/// The deviations from the script that a fault may cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permits {
    /// The cause may be `RUNNER_LOST`.
    pub lost: bool,
    /// The cause may be `CANCELLED`, or the command may be refused, because its runner stops.
    pub drained: bool,
}

impl Actor {
    /// Starts a command, and reads it from its beginning to its end.
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

    /// Waits until the execution is in this state, or in a later one.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn reaches(&self, client: &Client, state: v1::ExecutionState) -> v1::Execution {
        let what = format!("{} reaches {}", self.part.name, state.as_str_name());
        eventually(&what, async || {
            let now = client.execution(&self.id).await.ok()?;
            (i32::from(now.state()) >= i32::from(state)).then_some(now)
        })
        .await
    }

    /// Approves the execution, unless it was answered already.
    ///
    /// # Panics
    /// If it cannot be approved.
    pub async fn allow(&self, client: &Client) {
        self.answer(client, || Answer::AllowOnce(AllowOnce::default())).await;
    }

    /// Answers the approval, unless it was answered already.
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

    /// Sends the execution to the background, unless it has ended.
    ///
    /// # Panics
    /// If neither is the case.
    pub async fn detach(&self, client: &Client) {
        eventually(&format!("{} goes to the background", self.part.name), async || {
            let detached = client.detach(&self.id).await.is_ok();
            (detached || is_finished(client, &self.id).await).then_some(())
        })
        .await;
    }

    /// Cancels the execution.
    ///
    /// # Panics
    /// If the request is never accepted.
    pub async fn cancel(&self, client: &Client) {
        let what = format!("the end of {} is asked for", self.part.name);
        eventually(&what, async || client.cancel(&self.id).await.ok().map(drop)).await;
    }

    /// Sends all of its input, unless it has ended.
    ///
    /// # Panics
    /// If neither is the case.
    pub async fn feed(&self, client: &Client) {
        let Some(input) = &self.part.stdin else { return };
        eventually(&format!("{} has its input", self.part.name), async || {
            let fed = client.write_stdin(&self.id, 0, &mut input.as_slice()).await.is_ok();
            (fed || is_finished(client, &self.id).await).then_some(())
        })
        .await;
    }

    /// Returns the ended execution, and the data that its reader received.
    ///
    /// # Panics
    /// If it does not end in time, or its reader lost the view.
    pub async fn ended(&mut self, client: &Client) -> (v1::Execution, Ledger) {
        let end = eventually(&format!("{} ends", self.part.name), async || {
            let now = client.wait(&self.id, Duration::from_secs(5)).await.ok()?;
            (now.state() == v1::ExecutionState::Finished).then_some(now)
        })
        .await;
        let told = tokio::time::timeout(PATIENCE, &mut self.reader).await;
        let told = told.unwrap_or_else(|_| panic!("{}: its reader did not reach the end", self.part.name));
        (end, told.unwrap().unwrap_or_else(|error| panic!("{}: {error}", self.part.name)))
    }

    /// Returns the number of bytes of both streams that its reader has received so far.
    #[must_use]
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// Repeats the start with the same request.
    ///
    /// # Errors
    /// As for any start.
    pub async fn again(&self, client: &Client) -> Result<v1::Execution, ClientError> {
        client.start(self.spec.clone()).await
    }
}

/// Returns the answer that allows the execution once.
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

/// Reads an execution from its beginning to its end, also in the background.
///
/// # Errors
/// If the view cannot be reopened.
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

/// Repeats a call until the server responds.
///
/// # Panics
/// If the server refuses the call, or does not respond in time.
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

/// Waits until `look` returns a value.
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
