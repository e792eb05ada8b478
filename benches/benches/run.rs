//! Benchmarks of running `true`: in bash, in bash in a cold bubblewrap, and over gRPC.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::process::Command;

use airlock_benches::{Alternative, print};
use airlock_tests::{
    reader::{run, spec_in},
    site::Site,
};

const ROUNDS: usize = 200;

fn bubblewrap() -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]);
    command.args([
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
    ]);
    command.args(["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    command.args(["bash", "-c", "true"]);
    command
}

fn main() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(site.ready());
    let session = runtime.block_on(client.create_session(Default::default())).unwrap().session_id;
    let mut alternatives = [
        Alternative::new("bash -c true"),
        Alternative::new("bash -c true in a cold bubblewrap"),
        Alternative::new("airlock: read-only, over gRPC, to the end"),
        Alternative::new("airlock: writable, over gRPC, to the end"),
    ];
    for _ in 0..ROUNDS {
        let [bash, sandboxed, read_only, writable] = &mut alternatives;
        assert!(bash.measure(|| Command::new("bash").args(["-c", "true"]).status()).unwrap().success());
        assert!(sandboxed.measure(|| bubblewrap().status()).unwrap().success());
        for (alternative, command) in [(read_only, "true"), (writable, "true > /tmp/x")] {
            let story =
                alternative.measure(|| runtime.block_on(run(&client, spec_in(&session, command)))).unwrap();
            assert_eq!(story.exit_code(), Some(0));
        }
    }
    print("running `true`", &alternatives);
}
