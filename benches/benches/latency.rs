//! The time between a command's write and the read by its reader. It is measured through a pipe from bash, through a
//! pipe from bash in a cold bubblewrap, and through a deployment. The deployment is a sandbox, a runner, a TLS link to
//! the server, and a client's view over gRPC with TLS, on one host's loopback. Each line contains the time of its
//! write, from the clock that the reader also uses.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use airlock_benches::{Alternative, print_quantiles};
use airlock_client::{Client, v1};
use airlock_tests::{reader::spec_in, site::Site};

const ROUNDS: usize = 40;
const ALTERNATIVES: [&str; 3] =
    ["a pipe from bash", "a pipe from bash in a cold bubblewrap", "airlock: live, over gRPC with TLS"];
/// The shell function `line` prints the time of day with microseconds.
const HEAD: &str = "line() { echo $EPOCHREALTIME; };";
/// One line as soon as the shell runs, before the runner's output stream exists.
const AT_ONCE: &str = "line";
/// Fifty single lines.
const ALONE: &str = "sleep 0.1; for i in {1..50}; do line; sleep 0.01; done";
/// Ten bursts of ten lines without a pause.
const BURSTS: &str = "sleep 0.1; for i in {1..10}; do for j in {1..10}; do line; done; sleep 0.03; done";
const A_BURST: usize = 10;

fn bubblewrap() -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr"]);
    command.args(["--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]);
    command.args(["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "bash"]);
    command
}

/// Returns the age of a line.
fn age(line: &str) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    now.saturating_sub(Duration::from_micros(line.trim().replace('.', "").parse().unwrap()))
}

/// Returns the ages of all lines of a command when they were read.
fn by_pipe(mut command: Command, text: &str) -> Vec<Duration> {
    let mut child = command.args(["-c", text]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut ages) = (String::new(), Vec::new());
    while lines.read_line(&mut line).unwrap() > 0 {
        ages.push(age(&line));
        line.clear();
    }
    assert!(child.wait().unwrap().success());
    ages
}

async fn live(client: &Client, session: &str, text: &str) -> Vec<Duration> {
    let mut events = client.run(spec_in(session, text));
    let (mut open, mut ages) = (String::new(), Vec::new());
    while let Some(event) = events.next().await.unwrap() {
        let Some(v1::event::Event::Output(output)) = event.event else { continue };
        open.push_str(std::str::from_utf8(&output.data).unwrap());
        while let Some((line, rest)) = open.split_once('\n') {
            ages.push(age(line));
            open = rest.to_owned();
        }
    }
    ages
}

/// One measurement for each path, in the order of [`ALTERNATIVES`].
struct Measured([Alternative; 3]);

impl Measured {
    fn new() -> Self {
        Self(ALTERNATIVES.map(Alternative::new))
    }

    fn note(&mut self, alternative: usize, ages: impl IntoIterator<Item = Duration>) {
        for (index, measured) in self.0.iter_mut().enumerate() {
            if index == alternative {
                ages.into_iter().for_each(|age| measured.note(age));
                return;
            }
        }
    }
}

fn main() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(site.ready());
    let session = runtime.block_on(client.create_session(Default::default())).unwrap().session_id;
    let [at_once, alone, bursts] = [AT_ONCE, ALONE, BURSTS].map(|text| format!("{HEAD} {text}"));
    let [mut once, mut first, mut steady, mut last] = [(); 4].map(|()| Measured::new());
    for _ in 0..ROUNDS {
        for alternative in 0..ALTERNATIVES.len() {
            let ages = |text: &str| match alternative {
                0 => by_pipe(Command::new("bash"), text),
                1 => by_pipe(bubblewrap(), text),
                _ => runtime.block_on(live(&client, &session, text)),
            };
            once.note(alternative, ages(&at_once));
            let lines = ages(&alone);
            assert_eq!(lines.len(), 50);
            first.note(alternative, lines.first().copied());
            steady.note(alternative, lines.into_iter().skip(1));
            let lines = ages(&bursts);
            assert_eq!(lines.len(), 100);
            last.note(alternative, lines.chunks(A_BURST).filter_map(|burst| burst.last().copied()));
        }
    }
    println!("from a command's write to its reader's read");
    print_quantiles("a line that a command writes at once", &once.0);
    print_quantiles("the first line of one that waits 100 ms", &first.0);
    print_quantiles("each further line, 10 ms after the one before it", &steady.0);
    print_quantiles("the last of ten lines without a pause", &last.0);
}
