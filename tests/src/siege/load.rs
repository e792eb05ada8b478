//! The load: commands of each kind with completely known output, and clients that start, feed, read and end them.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use airlock_client::{Client, v1};
use fastrand::Rng;
use sha2::{Digest as _, Sha256};

use super::field::{Field, LIMIT, Plan, RUNNERS};
use crate::chaos::{
    actor::{Ending, Part, follow, lines},
    ledger::Ledger,
};
use crate::fleet::runner_name;

const POLL: Duration = Duration::from_millis(50);
/// The number of shared sessions per runner.
const SHARED_PER_RUNNER: usize = 3;

/// The kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It writes little and ends.
    Short,
    /// It writes two million bytes.
    Large,
    /// It writes its input.
    Stdin,
    /// It writes a line from time to time.
    Slow,
    /// It is sent to the background.
    Background,
    /// It has its own session, which is closed afterwards.
    Session,
    /// It would run forever, and is cancelled.
    Cancelled,
}

const KINDS: [(Kind, u32); 7] = [
    (Kind::Short, 38),
    (Kind::Large, 8),
    (Kind::Stdin, 12),
    (Kind::Slow, 16),
    (Kind::Background, 10),
    (Kind::Session, 8),
    (Kind::Cancelled, 8),
];

/// An ended command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) kind: Kind,
    pub(super) part: Part,
    pub(super) session: String,
    pub(super) id: String,
    pub(super) end: v1::Execution,
    /// The data that its reader received: the state changes, and the length and digest of standard output.
    pub(super) told: Told,
    /// The number of its starts, according to its workspace at its end.
    pub(super) ran: u32,
    /// The time of its start, and the time at which its end was known.
    pub(super) span: (Instant, Instant),
}

/// The part of a ledger that is kept.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    steps: Vec<(u64, i32, i32)>,
    pub(super) bytes: u64,
    digest: Vec<u8>,
}

impl Told {
    pub(super) fn of(ledger: &Ledger) -> Self {
        let digest = Sha256::digest(&ledger.stdout.bytes).to_vec();
        Self { steps: ledger.steps.clone(), bytes: ledger.stdout.bytes.len() as u64, digest }
    }
}

/// The commands to run, and those in progress.
#[derive(Debug)]
pub(super) struct Load {
    plan: Plan,
    kinds: Vec<Kind>,
    next: AtomicUsize,
    /// The shared sessions.
    pub(super) shared: Vec<String>,
    /// The accepted executions, for queries.
    accepted: Mutex<BTreeMap<String, Kind>>,
}

/// Returns the key in the `request_id` of all executions of a run.
pub(super) fn key(plan: Plan) -> String {
    format!("siege-{}", plan.seed)
}

impl Load {
    /// Opens the shared sessions.
    pub(super) async fn open(field: &Field, mut rng: Rng, plan: Plan) -> Arc<Self> {
        let all: u32 = KINDS.iter().map(|(_, weight)| weight).sum();
        let mut kind = || {
            let mut at = rng.u32(..all);
            for (kind, weight) in KINDS {
                if at < weight {
                    return kind;
                }
                at -= weight;
            }
            Kind::Short
        };
        let kinds = (0..plan.count).map(|_| kind()).collect();
        let client = field.client(0);
        let mut shared = Vec::new();
        for number in 0..SHARED_PER_RUNNER * usize::from(RUNNERS) {
            shared.push(session(&client, format!("{}-shared-{number}", key(plan))).await);
        }
        let (next, accepted) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { plan, kinds, next, shared, accepted })
    }

    /// Returns the next command to run, if there is one.
    fn take(&self) -> Option<(usize, Kind)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.kinds.get(number).map(|kind| (number, *kind))
    }

    /// Runs commands in sequence until there are no more.
    pub(super) async fn work(self: Arc<Self>, field: Arc<Field>, worker: usize) -> Vec<Done> {
        let mut done = Vec::new();
        while let Some((number, kind)) = self.take() {
            done.push(self.run(&field, &field.client(worker), number, kind).await);
        }
        done
    }

    async fn run(&self, field: &Field, client: &Client, number: usize, kind: Kind) -> Done {
        let part = part(number, kind);
        let name = part.name.clone();
        let session = match kind {
            Kind::Session => session(client, format!("{}-own-{number}", key(self.plan))).await,
            _ => self.shared[number % self.shared.len()].clone(),
        };
        let began = Instant::now();
        let spec = part.spec(&session, &key(self.plan));
        let id = insist(&format!("{name} is started"), || client.start(spec.clone())).await.execution_id;
        self.accepted.lock().unwrap().insert(id.clone(), kind);
        let reader = tokio::spawn(follow(client.clone(), id.clone()));
        operate(client, &part, kind, &id).await;
        let ledger = tokio::time::timeout(LIMIT, reader).await;
        let ledger = ledger.unwrap_or_else(|_| panic!("{name}, {id}: its reader did not reach the end"));
        let ledger = ledger.unwrap().unwrap_or_else(|error| panic!("{name}, {id}: {error}"));
        let end = insist(&format!("{name} has ended"), || client.wait(&id, Duration::from_secs(5))).await;
        assert_eq!(end.state(), v1::ExecutionState::Finished, "{name}: its reader received the end");
        let span = (began, Instant::now());
        let ran = at(field.fleet.path(), &end.runner_id).get(&name).copied().unwrap_or(0);
        // A wrong byte is never permitted. Whether the result is permitted is known when the faults have stopped.
        let all = crate::chaos::actor::Permits { lost: true, drained: true };
        part.agrees(&end, &ledger, ran, all);
        if kind == Kind::Session {
            close(client, &session).await;
        }
        Done { kind, part, session, id, end, told: Told::of(&ledger), ran, span }
    }
}

/// Performs the operations on a command other than reading it.
async fn operate(client: &Client, part: &Part, kind: Kind, id: &str) {
    match kind {
        Kind::Stdin => {
            let input = part.stdin.as_deref().unwrap_or_default();
            until_or_ended(client, id, &part.name, async || {
                client.write_stdin(id, 0, &mut &*input).await.is_ok()
            })
            .await;
        }
        Kind::Background => {
            until_or_ended(client, id, &part.name, async || client.detach(id).await.is_ok()).await;
        }
        Kind::Cancelled => {
            let runs = async || {
                let now = client.execution(id).await;
                now.is_ok_and(|now| i32::from(now.state()) >= i32::from(v1::ExecutionState::Running))
            };
            until_or_ended(client, id, &part.name, runs).await;
            until_or_ended(client, id, &part.name, async || client.cancel(id).await.is_ok()).await;
        }
        Kind::Short | Kind::Large | Kind::Slow | Kind::Session => {}
    }
}

/// Returns the command with this number.
fn part(number: usize, kind: Kind) -> Part {
    let name = format!("n{number}");
    match kind {
        Kind::Short | Kind::Session => Part::new(name, "seq 1 20; exit 7", lines(1, 20)),
        Kind::Large => Part::new(name, "seq 1 300000; exit 7", lines(1, 300_000)),
        Kind::Stdin => {
            let input = lines(1, 5000);
            Part { stdin: Some(input.clone()), ..Part::new(name, "cat; exit 7", input) }
        }
        Kind::Slow | Kind::Background => {
            Part::new(name, "for i in {1..12}; do echo $i; sleep 0.2; done; exit 7", lines(1, 12))
        }
        Kind::Cancelled => {
            let part = Part::new(name, "seq 1 50; sleep 3000", lines(1, 50));
            Part { ending: Ending::Cancelled, ..part }
        }
    }
}

/// Queries single servers for accepted executions while commands remain. Every reachable server must know each of
/// them.
pub(super) async fn ask(load: Arc<Load>, field: Arc<Field>, mut rng: Rng) -> Vec<Done> {
    while load.next.load(Ordering::Relaxed) < load.plan.count {
        tokio::time::sleep(POLL).await;
        let id = {
            let accepted = load.accepted.lock().unwrap();
            let ids: Vec<&String> = accepted.keys().collect();
            rng.choice(ids).cloned()
        };
        let (Some(id), server) = (id, rng.usize(..field.fleet.servers.len())) else { continue };
        match field.hasty(server).execution(&id).await {
            Ok(execution) => {
                assert_eq!(execution.execution_id, id);
                field.tally.lock().unwrap().answers += 1;
            }
            Err(error) => assert!(error.is_passing(), "server {server} about {id}: {error}"),
        }
    }
    Vec::new()
}

/// Returns an open session. If its runner starts to drain meanwhile, the creation fails and is repeated.
async fn session(client: &Client, request_id: String) -> String {
    let tries = Cell::new(0);
    let made = until("a session is created", async || {
        let request = v1::SessionServiceCreateRequest {
            profile: "demo".to_owned(),
            request_id: format!("{request_id}-{}", tries.get()),
            ..Default::default()
        };
        match client.create_session(request).await {
            Ok(made) => return Some(made),
            Err(error) if error.is_passing() => {}
            Err(error) => {
                let reason = error.rejection().map(|rejection| rejection.reason.as_str());
                assert_eq!(reason, Some("SESSION_NOT_OPEN"), "a session is created: {error}");
                tries.set(tries.get() + 1);
            }
        }
        None
    })
    .await;
    until("a session is open", async || {
        let now = client.session(&made.session_id).await.ok()?;
        (now.state() == v1::SessionState::Open).then_some(())
    })
    .await;
    made.session_id
}

/// Closes a session and waits until it is closed.
pub(super) async fn close(client: &Client, session: &str) {
    until(&format!("{session} is closed"), async || {
        let asked = client.close_session(session).await;
        let now = client.session(session).await.ok()?;
        (asked.is_ok() && now.state() == v1::SessionState::Closed).then_some(())
    })
    .await;
}

async fn until_or_ended(client: &Client, id: &str, name: &str, does: impl AsyncFn() -> bool) {
    until(&format!("{name}: its task has finished"), async || {
        if does().await {
            return Some(());
        }
        let now = client.execution(id).await.ok()?;
        (now.state() == v1::ExecutionState::Finished).then_some(())
    })
    .await;
}

/// Repeats a call until it succeeds. No permanent error is expected.
pub(super) async fn insist<T>(
    what: &str,
    call: impl AsyncFn() -> Result<T, airlock_client::ClientError>,
) -> T {
    until(what, async || match call().await {
        Ok(answer) => Some(answer),
        Err(error) if error.is_passing() => None,
        Err(error) => panic!("{what}: {error}"),
    })
    .await
}

/// Waits until `look` returns a value.
pub(super) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the starts of commands on a runner of the fleet in this directory, by name.
fn at(fleet: &Path, runner: &str) -> BTreeMap<String, u32> {
    let mut ran = BTreeMap::new();
    let sessions = fs::read_dir(fleet.join(runner).join("sessions")).into_iter().flatten().flatten();
    for session in sessions {
        let file = session.path().join("disk/workspace/ran.txt");
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            *ran.entry(line.to_owned()).or_default() += 1;
        }
    }
    ran
}

/// Returns the starts of commands on all runners.
pub(super) fn anywhere(fleet: &Path, runners: u8) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for number in 0..usize::from(runners) {
        for (name, count) in at(fleet, &runner_name(number)) {
            *all.entry(name).or_default() += count;
        }
    }
    all
}
