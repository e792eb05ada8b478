//! Tests of the program: its output, its exit codes and its reaction to signals.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::PATIENCE;

const CONFIG: &str = r#"
server_id = "s"
[listen]
address = "127.0.0.1:0"
insecure_loopback = true
[store]
path = "STATE/airlock.db"
[outputs]
directory = "STATE/outputs"
[[identity]]
name = "dev"
tenant = "dev"
roles = ["executor"]
match = "loopback"
"#;

fn program(folder: &Path, config: &str, more: &[&str]) -> Command {
    let file = folder.join("server.toml");
    fs::write(&file, config.replace("STATE", &folder.join("state").display().to_string())).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-server"));
    command.args(more).arg("--config").arg(file).env_remove("RUST_LOG").stderr(Stdio::piped());
    command
}

fn finish(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_configuration_can_be_checked_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(finish(program(folder.path(), CONFIG, &["check-config"])), (Some(0), String::new()));
    assert!(!folder.path().join("state").exists());
}

#[test]
fn the_effective_configuration_shows_the_origin_of_each_layer() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["check-config", "--effective", "--set", "limits.queue=7"];
    let mut command = program(folder.path(), CONFIG, &arguments);
    command.env("AIRLOCK_SERVER__LIMITS__WAITS", "5000").env("AIRLOCK_SERVER_PORT", "tcp://10.0.0.1:7400");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    for line in [
        "limits.queue = 7  # --set limits.queue",
        "limits.waits = 5000  # AIRLOCK_SERVER__LIMITS__WAITS",
        "limits.lists = 256  # default",
        "identity[0].match = (secret)  # ",
        "server.toml:2:13",
    ] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
    let mut wrong = program(folder.path(), CONFIG, &["--set", "limits.quue=7"]);
    wrong.env("AIRLOCK_SERVER__LIMITS__WAITS", "many");
    let (code, said) = finish(wrong);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("AIRLOCK_SERVER__LIMITS__WAITS: `limits.waits`: it is the text `many`; "),
        "{said}"
    );
    assert!(said.contains("--set limits.quue: `limits.quue`: there is no such key; did you mean"), "{said}");
}

#[test]
fn a_bad_configuration_is_exit_2_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let bad = CONFIG.replace("address = \"127.0.0.1:0\"", "address = \"0.0.0.0:0\"");
    let (code, said) = finish(program(folder.path(), &bad, &[]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("server.toml:5:1: `listen.insecure_loopback`"), "{said}");
    assert_eq!(finish(program(folder.path(), "x", &[])).0, Some(2));
}

#[test]
fn a_profile_that_is_not_there_is_found_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{CONFIG}\n[profiles]\ndefault = \"nowhere\"\n");
    let (code, said) = finish(program(folder.path(), &config, &["check-config"]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the profile `nowhere` does not exist"), "{said}");
}

#[test]
fn what_cannot_be_served_is_exit_1() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = CONFIG.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
    let (code, said) = finish(program(folder.path(), &config, &[]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot listen on"), "{said}");
}

#[test]
fn other_servers_may_be_told_an_address_alone() {
    let folder = tempfile::tempdir().unwrap();
    let tls = "[listen.tls]\ncertificate = \"STATE/c\"\nkey = \"STATE/c\"\nclient_ca = \"STATE/c\"\n";
    let peers =
        "[peers]\nserver_name = \"s\"\nca = \"STATE/c\"\ncertificate = \"STATE/c\"\nkey = \"STATE/c\"\n";
    let config = CONFIG
        .replace("insecure_loopback = true\n", tls)
        .replace("match = \"loopback\"", "match = { dns = \"x\" }");
    fs::create_dir(folder.path().join("state")).unwrap();
    fs::write(folder.path().join("state/c"), "").unwrap();
    let identity =
        "[[identity]]\nname = \"p\"\ntenant = \"system\"\nroles = [\"server\"]\nmatch = { dns = \"s\" }\n";
    let advertised = |address: &str| {
        let mut command = program(folder.path(), &format!("{config}{identity}{peers}"), &["check-config"]);
        command.env("AIRLOCK_ADVERTISE", address);
        finish(command).1
    };
    // The files contain no certificates, which is detected after the configuration is checked.
    for right in ["fd00::1", "10.0.0.1", "https://[fd00::1]:7443"] {
        let said = advertised(right);
        assert!(!said.contains("peers.advertise") && said.contains("contains no"), "{right}: {said}");
    }
    let said = advertised("https://fd00::1:7443");
    assert!(said.contains("AIRLOCK_ADVERTISE") && said.contains("https://[fd00::1]:7443"), "{said}");
}

fn wait(mut child: Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("it did not stop");
}

#[test]
fn it_stops_in_order_on_either_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = program(folder.path(), CONFIG, &[]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("serving")));
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(rest.last().unwrap().contains("shut down"), "{rest:?}");
        assert_eq!(wait(child), Some(0));
        let left: Vec<_> = fs::read_dir(folder.path().join("state")).unwrap().flatten().collect();
        assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().ends_with("-wal")), "{left:?}");
    }
}

/// Waits until a process reads the pipe, and returns the writing end.
fn reader_of(pipe: &Path) -> fs::File {
    use std::os::unix::fs::OpenOptionsExt as _;
    let begun = Instant::now();
    loop {
        // Without a reader, it cannot be opened for writing.
        let opened = fs::OpenOptions::new().write(true).custom_flags(libc_nonblock()).open(pipe);
        if let Ok(file) = opened {
            return file;
        }
        assert!(begun.elapsed() < PATIENCE, "no reader uses it");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn libc_nonblock() -> i32 {
    nix::fcntl::OFlag::O_NONBLOCK.bits()
}

#[test]
fn a_signal_that_comes_before_its_configuration_was_read_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-server"));
    let child = command.arg("--config").arg(&pipe).stderr(Stdio::null()).spawn().unwrap();
    let _unwritten = reader_of(&pipe);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(wait(child), Some(0), "it ends normally, not by the signal");
}

#[test]
fn logs_can_be_for_machines() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{CONFIG}\n[telemetry]\nlog_format = \"json\"\n");
    let mut child = program(folder.path(), &config, &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line: serde_json::Value = loop {
        let line = lines.next().unwrap().unwrap();
        if line.contains("serving") {
            break serde_json::from_str(&line).unwrap();
        }
    };
    assert_eq!(line.get("message").unwrap(), "serving");
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(wait(child), Some(0));
}
