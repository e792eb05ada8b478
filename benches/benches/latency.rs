//! From a command's write to its reader's read: by a pipe from bash, by a pipe from a cold bubblewrap, and live over
//! gRPC. Each line holds the time at which it was written, by the clock that the reader looks at, too.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use airlock_benches::{Way, print_quantiles};
use airlock_cli::client::{Client, v1};
use airlock_tests::{reader::spec_in, site::Site};

const ROUNDS: usize = 5;
/// A hundred lines, each some milliseconds after the one before it, with microseconds since 1970.
const WRITER: &str = "for i in {1..100}; do sleep 0.005; printf '%s\\n' \"${EPOCHREALTIME/[.,]/}\"; done";

fn bubblewrap() -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr"]);
    command.args([
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
    ]);
    command.args(["--proc", "/proc", "--dev", "/dev", "bash"]);
    command
}

/// Notes how long ago a line was written.
fn note(way: &mut Way, line: &str) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let written = Duration::from_micros(line.trim().parse().unwrap());
    way.note(now.saturating_sub(written));
}

fn by_pipe(way: &mut Way, mut command: Command) {
    let mut child = command.args(["-c", WRITER]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        note(way, &line);
        line.clear();
    }
    assert!(child.wait().unwrap().success());
}

async fn live(way: &mut Way, client: &Client, session: &str) {
    let mut events = client.run(spec_in(session, WRITER));
    let mut open = String::new();
    while let Some(event) = events.next().await.unwrap() {
        let Some(v1::event::Event::Output(output)) = event.event else { continue };
        open.push_str(std::str::from_utf8(&output.data).unwrap());
        while let Some((line, rest)) = open.split_once('\n') {
            note(way, line);
            open = rest.to_owned();
        }
    }
}

fn main() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(site.ready());
    let session = runtime.block_on(client.create_session(Default::default())).unwrap().session_id;
    let mut ways = [
        Way::new("a pipe from bash"),
        Way::new("a pipe from bash in a cold bubblewrap"),
        Way::new("airlock: live, over gRPC with TLS"),
    ];
    for _ in 0..ROUNDS {
        let [bash, sandboxed, airlock] = &mut ways;
        by_pipe(bash, Command::new("bash"));
        by_pipe(sandboxed, bubblewrap());
        runtime.block_on(live(airlock, &client, &session));
    }
    print_quantiles("from a write to its read: median, 90 and 99 of a hundred, ratio of medians", &ways);
}
