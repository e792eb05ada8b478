//! Tests of the subcommands of `airlock-runner`: exit codes, output, and the readiness socket.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{PATIENCE, uids};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-runner"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Returns exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Creates a configuration with an unreachable server, and its state directory.
fn config(directory: &Path) -> (String, PathBuf) {
    let state = directory.join("a-folder-with-a-name-that-is-long-enough-to-be-no-socket-address".repeat(2));
    let file = directory.join("runner.toml");
    let text = format!(
        "runner_id = \"r1\"\nstate_dir = \"{}\"\nuids = {{ first = {}, count = {} }}\n[[server]]\nendpoint = \"http://127.0.0.1:1\"\ninsecure_loopback = true\n",
        state.display(),
        uids().first,
        uids().count,
    );
    fs::write(&file, text).unwrap();
    (file.display().to_string(), state)
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn stop(child: &mut Child) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn readiness_is_asked_over_a_socket_that_only_its_owner_can_use_and_that_goes_with_the_runner() {
    let directory = airlock_mounts::ScratchDir::new();
    let (file, state) = config(directory.path());
    let (code, said, errors) = run(&["ready", "--config", &file]);
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(errors.contains("no runner answers in") && errors.contains("start it"), "{errors}");

    let mut runner = program(&["run", "--config", &file]).stderr(Stdio::null()).spawn().unwrap();
    let socket = state.join("ready.sock");
    eventually("the socket is there", || socket.exists());
    let mut said = String::new();
    eventually("the runner answers", || {
        let (code, _, errors) = run(&["ready", "--config", &file]);
        said = errors;
        assert_eq!(code, Some(1), "no server is running: {said}");
        said.contains("no link to a server is up")
    });
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // A client that does not read delays no other client.
    let directory_fd = fs::File::open(&state).unwrap();
    let short = format!("/proc/self/fd/{}/ready.sock", std::os::fd::AsRawFd::as_raw_fd(&directory_fd));
    let silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(&short).unwrap()).collect();
    assert_eq!(run(&["ready", "--config", &file]).0, Some(1));
    drop(silent);

    let (code, said, _) = run(&["doctor", "--config", &file]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a running runner uses it") && said.contains("http://127.0.0.1:1 TCP"), "{said}");
    let (_, json, _) = run(&["doctor", "--json", "--config", &file]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.get("ok"), Some(&false.into()));

    let (code, said, errors) = run(&["drain", "--config", &file]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "nothing runs");
    assert!(said.contains("no command runs"), "{said}");
    assert_eq!(fs::metadata(state.join("drain.sock")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(run(&["ready", "--config", &file]).2.contains("it drains"));

    assert_eq!(stop(&mut runner), Some(0), "SIGHUP stops it in order");
    assert!(!state.join("drain.sock").exists());
    let (code, _, errors) = run(&["drain", "--config", &file]);
    assert!(code == Some(1) && errors.contains("no runner answers in"), "{errors}");
    assert_eq!(run(&["drain", "--wait", "long", "--config", &file]).0, Some(2));
    assert!(!socket.exists(), "the socket is removed with the runner");
    assert_eq!(run(&["ready", "--config", &file]).0, Some(1));
}

#[test]
fn a_socket_that_a_dead_runner_left_is_replaced() {
    let directory = airlock_mounts::ScratchDir::new();
    let (file, state) = config(directory.path());
    let mut runner = program(&["--config", &file]).stderr(Stdio::null()).spawn().unwrap();
    eventually("the socket is there", || state.join("ready.sock").exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert!(state.join("ready.sock").exists(), "it could not remove its files");
    assert!(run(&["ready", "--config", &file]).2.contains("no runner answers in"));
    let mut runner = program(&["--config", &file]).stderr(Stdio::null()).spawn().unwrap();
    eventually("the next one answers", || {
        run(&["ready", "--config", &file]).2.contains("no link to a server")
    });
    assert_eq!(stop(&mut runner), Some(0));
}

#[test]
fn wrong_usage_is_exit_code_2_with_what_to_do() {
    let directory = airlock_mounts::ScratchDir::new();
    let misspelt = directory.path().join("misspelt.toml");
    fs::write(&misspelt, "runner_id = \"r\"\nstate_dir = \"/s\"\nslot = 3\n").unwrap();
    let misspelt = misspelt.display().to_string();
    for (arguments, piece) in [
        (&["--config"][..], "a value is required"),
        (&["--confg", "x"], "--config"),
        (&["redy"], "'ready'"),
        (&["ready"], "--config <FILE>"),
        (&["--config", "x", "run", "--config", "y"], "cannot be used with"),
        (
            &["check-config", "--config", "/no/such.toml"],
            "/no/such.toml: there is no such file; correct the path",
        ),
        (
            &["doctor", "--config", &misspelt],
            "misspelt.toml:3:1: `slot`: there is no such key; did you mean `slots`?",
        ),
    ] {
        let (code, said, errors) = run(arguments);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(piece), "`{piece}` in {arguments:?}: {errors}");
    }
    let (code, said, errors) = run(&[]);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(errors.contains("Examples:") && errors.contains("SIGTERM"), "{errors}");
    assert_eq!(run(&["version"]).0, Some(0));
}
