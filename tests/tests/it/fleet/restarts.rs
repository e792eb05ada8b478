//! Servers are killed or replaced while commands run and are read. Other servers take over, no command is started
//! twice, and programs with the client library only see a delay.

use std::time::Duration;

use airlock_client::{Client, Patience, v1};
use airlock_tests::{
    fleet::{Fleet, Timers},
    process::Process,
    raw::{Connection, frame, tls},
    reader::{Story, read, run, spec_in, stored, written},
    site::PATIENCE,
};
use tokio::task::JoinSet;

/// Returns a command that records its start and then counts. The output shows lost or repeated parts, and is slow
/// enough for servers to end and restart meanwhile.
fn script(name: &str, lines: u32, pause: &str) -> String {
    format!("echo x >> ran-{name}; for i in $(seq 1 {lines}); do echo {name} $i; sleep {pause}; done")
}

pub(crate) fn quick(name: &str, lines: u32) -> String {
    script(name, lines, "0.1")
}

/// Like [`script`], but it waits for a file before the second half of its lines, so that it runs as long as needed.
fn halves(name: &str, lines: u32, pause: &str) -> String {
    format!(
        "{}; until [ -e go ]; do sleep {pause}; done; for i in $(seq {} {lines}); do echo {name} $i; done",
        script(name, lines / 2, pause),
        lines / 2 + 1
    )
}

fn gated(name: &str, lines: u32) -> String {
    halves(name, lines, "0.5")
}

fn quick_and_gated(name: &str, lines: u32) -> String {
    halves(name, lines, "0.1")
}

fn expected(name: &str, lines: u32) -> Vec<u8> {
    (1..=lines).flat_map(|line| format!("{name} {line}\n").into_bytes()).collect()
}

pub(crate) async fn session(client: &Client) -> String {
    let request = v1::SessionServiceCreateRequest { profile: "demo".to_owned(), ..Default::default() };
    client.create_session(request).await.unwrap().session_id
}

/// Running commands, each with a client that follows it.
pub(crate) struct Commands {
    sessions: Vec<String>,
    readers: JoinSet<(usize, String, Story)>,
    lines: u32,
}

impl Commands {
    /// Starts this number of commands in the sessions by turns, each with a separate client.
    pub(crate) async fn start(
        fleet: &Fleet,
        sessions: Vec<String>,
        prefix: &str,
        count: usize,
        lines: u32,
        script: fn(&str, u32) -> String,
    ) -> Self {
        let all: Vec<usize> = (0..fleet.servers.len()).collect();
        let mut readers = JoinSet::new();
        for number in 0..count {
            let (client, name) = (fleet.client(&all), format!("{prefix}-{number}"));
            let spec = v1::ExecutionSpec {
                allow_concurrent: true,
                timeout: Some(prost_types::Duration { seconds: 1800, nanos: 0 }),
                ..spec_in(&sessions[number % sessions.len()], &script(&name, lines))
            };
            readers.spawn(async move {
                let story = read(client.run(spec)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
                (number, name, story)
            });
        }
        Self { sessions, readers, lines }
    }

    /// Creates the file that commands wait for.
    pub(crate) async fn go(&self, client: &Client) {
        for session in &self.sessions {
            let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(session, "touch go") };
            assert_eq!(run(client, go).await.unwrap().exit_code(), Some(0));
        }
    }

    /// Waits for all commands, and compares each output with its script. Returns their number.
    pub(crate) async fn check(mut self, client: &Client) -> usize {
        let mut count = 0;
        while let Some(done) = self.readers.join_next().await {
            let (number, name, story) = done.unwrap();
            assert_eq!(story.exit_code(), Some(0), "{name}: {:?}", story.end);
            assert_eq!(story.missing, 0, "{name}");
            assert!(story.stdout == expected(&name, self.lines), "{name}: a byte is missing or repeated");
            assert!(story.versions.is_sorted_by(|one, next| one < next), "{name}: {:?}", story.versions);
            let ran = spec_in(&self.sessions[number % self.sessions.len()], &format!("wc -l < ran-{name}"));
            let ran = run(client, ran).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "1", "{name} ran once");
            stored(client, &story.end.unwrap().execution_id).await;
            count += 1;
        }
        assert!(count > 0);
        count
    }
}

/// Starts a fleet in which each runner connects to each server.
pub(crate) async fn fleet(servers: usize, runners: usize) -> (Fleet, Vec<Option<Process>>, Vec<Process>) {
    let all: Vec<usize> = (0..servers).collect();
    let fleet = Fleet::new(servers, &vec![all.as_slice(); runners], Timers::ShortLease);
    let processes = (0..servers).map(|number| Some(fleet.server(number, &[]))).collect();
    let hosts = (0..runners).map(|number| fleet.runner(number)).collect();
    for server in 0..servers {
        fleet.ready(server, runners).await;
    }
    (fleet, processes, hosts)
}

/// Waits until this number of executions runs, and returns their IDs.
async fn running(client: &Client, count: usize) -> Vec<String> {
    let filter =
        v1::ExecutionFilter { states: vec![v1::ExecutionState::Running.into()], ..Default::default() };
    let request = v1::ExecutionServiceListRequest { filter: Some(filter), ..Default::default() };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let running = client.executions(request.clone()).await.unwrap().executions;
        if running.len() == count {
            return running.into_iter().map(|execution| execution.execution_id).collect();
        }
        assert!(tokio::time::Instant::now() < deadline, "{} of {count} run", running.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

mod sample {
    use airlock_tests::site::PATIENCE;

    use super::{Commands, fleet, gated, running, session};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rolling_restart_is_seen_by_nobody() {
        let count = airlock_sampling::extent(20, 50);
        let (fleet, mut servers, _hosts) = fleet(3, 5).await;
        let client = fleet.client(&[0, 1, 2]);
        let mut sessions = Vec::new();
        for _ in 0..5 {
            sessions.push(session(&client).await);
        }
        let commands = Commands::start(&fleet, sessions.clone(), "roll", count, 60, gated).await;
        running(&client, count).await;
        for (number, server) in servers.iter_mut().enumerate() {
            let status = server.take().unwrap().terminate(PATIENCE);
            assert!(status.success(), "{status}");
            *server = Some(fleet.server(number, &[]));
            fleet.ready(number, 5).await;
        }
        running(&client, count).await;
        commands.go(&client).await;
        assert_eq!(Box::pin(commands.check(&client)).await, count);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_loses_no_command_and_no_byte() {
    let (fleet, mut servers, _hosts) = fleet(2, 2).await;
    let client = fleet.client(&[0, 1]);
    let sessions = vec![session(&client).await, session(&client).await];
    let commands = Commands::start(&fleet, sessions.clone(), "kill", 8, 100, quick_and_gated).await;
    // In the middle of the output of each command.
    for id in running(&client, 8).await {
        written(&client, &id, " 20\n").await;
    }
    servers[0].take().unwrap().kill();
    let other = fleet.client(&[1]);
    commands.go(&other).await;
    Box::pin(commands.check(&other)).await;
}

/// Returns the status from `grpc.health.v1`, or `None` if the server does not respond.
async fn serves(fleet: &Fleet, server: usize) -> Option<bool> {
    let connection = Connection::open(fleet.servers[server], tls(&fleet.pki.ca(), None)).await.ok()?;
    let answer = connection.call("/grpc.health.v1.Health/Check", &[], frame(&[])).await.ok()?;
    // HealthCheckResponse: the field `status`, SERVING or NOT_SERVING.
    match answer.messages.first()?.as_ref() {
        [8, 1] => Some(true),
        [8, 2] => Some(false),
        other => panic!("{other:?}"),
    }
}

/// Returns the different statuses of a server until it is serving.
async fn told(fleet: &Fleet, server: usize) -> Vec<bool> {
    let mut told = Vec::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while told.last() != Some(&true) {
        assert!(tokio::time::Instant::now() < deadline, "{told:?}");
        if let Some(serves) = serves(fleet, server).await
            && told.last() != Some(&serves)
        {
            told.push(serves);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_server_is_ready_when_it_has_the_links_that_the_others_have_or_after_a_while() {
    let fleet = Fleet::new(3, &[&[0, 2]], Timers::Patient);
    let _first = (fleet.server(0, &[]), fleet.runner(0));
    fleet.ready(0, 1).await;
    assert_eq!(told(&fleet, 0).await, [true], "the first server waits for no other");
    // The runner does not connect to the second server, which waits as long as permitted. It connects to the third.
    let _second = fleet.server(1, &[]);
    assert_eq!(told(&fleet, 1).await, [false, true]);
    let begun = tokio::time::Instant::now();
    let _third = fleet.server(2, &[]);
    assert_eq!(told(&fleet, 2).await.last(), Some(&true));
    eprintln!("ready after {:?}", begun.elapsed());
    fleet.ready(2, 1).await;
}

/// Killed before and after each step of a start and of an end, while another server can take over.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_between_two_steps_is_followed_by_another() {
    let (fleet, mut servers, _hosts) = fleet(2, 1).await;
    let other = fleet.client(&[1]);
    let session = session(&other).await;
    for (number, point) in POINTS.iter().enumerate() {
        servers[0].take().expect("the first server is up").kill();
        servers[0] = Some(fleet.server(0, &[("AIRLOCK_FAULT", point)]));
        fleet.ready(0, 1).await;
        let name = format!("point-{number}");
        let spec = v1::ExecutionSpec {
            allow_concurrent: true,
            request_id: name.clone(),
            ..spec_in(&session, &script(&name, 10, "0.05"))
        };
        // The request goes to the server that dies; the client repeats it at either server, and continues.
        let patience = Patience { call: Duration::from_millis(200), ..Patience::default() };
        drop(fleet.client_with(&[0], patience).start(spec.clone()).await);
        let story = read(fleet.client(&[0, 1]).run(spec)).await.unwrap();
        assert_eq!(story.exit_code(), Some(0), "{point}: {:?}", story.end);
        assert!(story.stdout == expected(&name, 10), "{point}: a byte is missing or repeated");
        let ran = run(&other, spec_in(&session, &format!("wc -l < ran-{name}"))).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "1", "{point}: it ran once");
        // The next server would store an output that is not stored yet, and die of its fault before it serves.
        for story in [story, ran] {
            stored(&other, &story.end.unwrap().execution_id).await;
        }
    }
}

const POINTS: &[&str] = &[
    "before_store_write/create_execution",
    "after_store_write/create_execution",
    "before_store_write/transition",
    "after_store_write/transition",
    "before_store_write/transition:2",
    "after_store_write/transition:2",
    "before_store_write/transition:3",
    "after_store_write/transition:3",
    "before_link_send/StartJob",
    "after_link_send/StartJob",
    "after_link_receive/Job",
    "after_link_receive/Job:2",
    "after_link_receive/Job:3",
    "before_store_write/take_storing",
    "after_store_write/take_storing",
    "before_store_write/set_output:2",
];
