//! `airlock mcp` with a public MCP client, the official Python SDK, over standard input and output and over HTTP.
//!
//! `tests/mcp/session.py` is the client. The tests here start the servers, and check what an SDK hides: each byte on
//! standard output, and the refusal of unsafe settings.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use airlock_mounts::ScratchDir;
use airlock_tests::{
    process::{Process, until},
    site::PATIENCE,
    source,
    tools::{program, python_packages},
};
use nix::sys::signal::Signal;

/// The checks that `session.py` reports, in their order.
const CHECKS: [&str; 16] = [
    "commands",
    "background",
    "commands",
    "background",
    "files",
    "wrong",
    "closed",
    "connected",
    "denied",
    "approved",
    "elicited",
    "cancelled",
    "kept",
    "apart",
    "guarded",
    "unreachable",
];
/// A profile that permits no self-approval.
const PEOPLE: &str = "name = \"people\"\nextends = \"strict\"\n[approvals]\nself_approval = false\n";
/// A profile that asks about connections to a host that the dev permits.
const HOSTS: &str = "name = \"hosts\"\nextends = \"agent\"\n[policy]\nask = [\"Network(pypi.org)\"]\n\
                     [approvals]\nself_approval = true\nconnection_wait = \"5m\"\n";

/// A dev, and an MCP server over HTTP. Both are stopped by a signal.
struct Servers {
    processes: Vec<Process>,
    directory: ScratchDir,
}

impl Servers {
    fn start() -> Self {
        let directory = ScratchDir::with_prefix("airlock-test-mcp-");
        let profiles = directory.path().join("profiles");
        fs::create_dir(&profiles).unwrap();
        fs::write(profiles.join("people.toml"), PEOPLE).unwrap();
        fs::write(profiles.join("hosts.toml"), HOSTS).unwrap();
        let mut servers = Self { processes: Vec::new(), directory };
        let state = servers.state();
        let profiles = ["--profiles".as_ref(), profiles.as_os_str()];
        servers.process(&["dev"], &profiles);
        until("the dev accepts commands", PATIENCE, || state.join("connection.json").exists());
        servers.process(&["mcp", "--http", "127.0.0.1:0", "--max-sessions", "2"], &[]);
        servers
    }

    fn process(&mut self, words: &[&str], more: &[&std::ffi::OsStr]) {
        let mut command = Command::new(program("airlock"));
        command.args(words).args(more).arg("--state").arg(self.state()).env("HOME", self.directory.path());
        let log = self.directory.path().join(format!("{}.log", self.processes.len()));
        self.processes.push(Process::start(&mut command, &log));
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Returns the URL that the MCP server names.
    fn url(&self) -> String {
        let named = || {
            let log = self.processes.last().unwrap().output();
            log.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned)
        };
        until("the MCP server listens", PATIENCE, || named().is_some());
        named().unwrap()
    }

    fn log(&self) -> String {
        self.processes.iter().map(Process::output).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        while let Some(mut process) = self.processes.pop() {
            process.signal(Signal::SIGTERM);
            if process.wait(PATIENCE).is_none() {
                eprintln!("a server does not end: {}", process.output());
            }
        }
    }
}

#[test]
fn a_public_client_completes_sessions_over_both_transports() {
    let servers = Servers::start();
    let url = servers.url();
    let token = servers.state().join("mcp.token");
    assert_eq!(fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let output = Command::new("/usr/bin/python3")
        .arg(source::root().join("tests/mcp/session.py"))
        .arg(program("airlock"))
        .arg(servers.state())
        .arg(url)
        .arg(token)
        .env("PYTHONPATH", python_packages("mcp"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", servers.directory.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed: Vec<_> = report.lines().filter_map(|line| line.strip_prefix("passed: ")).collect();
    assert!(output.status.success(), "{report}\n{errors}\n{}", servers.log());
    assert_eq!(passed, CHECKS, "{report}\n{errors}\n{}", servers.log());
}

/// Runs `airlock mcp` with this input.
fn mcp(words: &[&str], state: &Path, input: &str) -> Output {
    let mut child = Command::new(program("airlock"))
        .arg("mcp")
        .args(words)
        .arg("--state")
        .arg(state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_output_has_the_protocol_only() {
    let directory = ScratchDir::with_prefix("airlock-test-mcp-");
    let input = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        "this is no JSON",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run","arguments":{"command":"true"}}}"#,
    ];
    let output = mcp(&[], directory.path(), &(input.join("\n") + "\n"));
    let text = String::from_utf8(output.stdout).unwrap();
    let messages: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let answer =
        |id: u64| messages.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id} in {text}"));
    assert_eq!(answer(1)["result"]["serverInfo"]["name"], "airlock");
    assert_eq!(answer(1)["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer(2)["result"]["isError"], true);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn unsafe_and_contradictory_settings_are_refused() {
    let directory = ScratchDir::with_prefix("airlock-test-mcp-");
    let open = directory.path().join("open");
    fs::write(&open, "0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let open = open.display().to_string();
    for (words, says, code) in [
        (&["--http", "0.0.0.0:0"][..], "--allow-remote", 1),
        (&["--http", "127.0.0.1:0", "--http-token-file", &open], "chmod 600", 1),
        (&["--http", "127.0.0.1:0", "--wait", "10m", "--idle-timeout", "5m"], "--idle-timeout", 2),
        (&["--wait", "2h"], "longer than 1h", 2),
        (&["--allow-remote"], "--http", 2),
        (&["--session", "01980000-0000-7000-8000-000000000000", "--base", "x"], "--base", 2),
    ] {
        let output = mcp(words, directory.path(), "");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(says), "{words:?}: {errors}");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
    }
}
