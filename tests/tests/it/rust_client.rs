//! The conformance cases of all clients (`clients/conformance`), run with the Rust client.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod calls;
mod compare;

use std::{fs, path::PathBuf, process::Stdio, time::Duration};

use airlock_client::{Client, DevConnection, Settings};
use airlock_mounts::ScratchDir;
use airlock_tests::{
    process::{Process, until},
    site::PATIENCE,
    source,
    tools::{program, python_packages},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use calls::{Calls, of_error, settings};
use compare::{difference, resolved};

/// The interval in seconds at which all connections are cut while the cases run again.
const EVERY: u32 = 2;
/// Far more than a case needs on a busy host.
const LIMIT: Duration = Duration::from_secs(180);

fn conformance() -> PathBuf {
    source::root().join("clients/conformance")
}

/// A helper that prints its address, and ends with its input.
struct Helper {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Helper {
    async fn start(file: &str, arguments: &[&str]) -> Self {
        let client = source::root().join("clients/python/src");
        let mut child = Command::new("/usr/bin/python3")
            .arg(conformance().join(file))
            .args(arguments)
            .env("PYTHONPATH", format!("{}:{}", client.display(), python_packages("python").display()))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next_line().await.unwrap().unwrap();
        Self { child, input, lines, address }
    }

    async fn tell(&mut self, command: &str) -> String {
        self.input.write_all(format!("{command}\n").as_bytes()).await.unwrap();
        self.lines.next_line().await.unwrap().unwrap()
    }

    async fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().await.unwrap().success());
    }
}

/// A real server. It is stopped by a signal, so that nothing of it remains on the host.
struct Server {
    dev: Option<Process>,
    directory: ScratchDir,
    connection: DevConnection,
}

impl Server {
    fn start() -> Self {
        let directory = ScratchDir::with_prefix("airlock-test-rust-client-");
        let state = directory.path().join("state");
        let mut command = std::process::Command::new(program("airlock"));
        command.arg("dev").arg("--state").arg(&state).env("HOME", directory.path());
        let dev = Process::start(&mut command, &directory.path().join("log"));
        until("the dev accepts commands", PATIENCE, || DevConnection::of(&state).is_ok());
        let mut runners = std::process::Command::new(program("airlock"));
        runners.args(["runners", "--wait", "--state"]).arg(&state);
        assert!(runners.output().unwrap().status.success(), "{}", dev.output());
        let connection = DevConnection::of(&state).unwrap();
        Self { dev: Some(dev), directory, connection }
    }

    /// Returns the values that cases refer to as `$server`.
    fn known(&self, proxy: &Helper) -> Value {
        let state = self.directory.path().join("state");
        json!({
            "address": format!("https://{}", proxy.address),
            "ca": state.join(&self.connection.ca),
            "token_file": state.join(&self.connection.token_file),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(dev) = self.dev.take().filter(|_| !std::thread::panicking()) {
            assert!(dev.terminate(PATIENCE).success());
        }
    }
}

/// Returns the cases with their names.
fn cases() -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(conformance().join("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        all.extend(
            cases.into_iter().map(|case| (format!("{stem}-{}", case["name"].as_str().unwrap()), case)),
        );
    }
    all
}

/// The values that every case can refer to.
fn given(name: &str, server: &Value, directory: &ScratchDir) -> serde_json::Map<String, Value> {
    let other = rcgen::generate_simple_self_signed(["another".to_owned()]).unwrap().cert.pem();
    let other_ca = directory.path().join("other.pem");
    fs::write(&other_ca, other).unwrap();
    let tmp = directory.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let mut saved = serde_json::Map::new();
    for (key, value) in [
        ("server", server.clone()),
        ("closed", json!("https://127.0.0.1:1")),
        ("other_ca", json!(other_ca)),
        ("tmp", json!(tmp)),
        ("unique", json!(format!("{name}-{}", uuid::Uuid::new_v4()))),
    ] {
        saved.insert(key.to_owned(), value);
    }
    saved
}

/// Runs a case. The error names the step that failed.
async fn check(
    name: &str,
    case: &Value,
    client: Client,
    server: &Value,
    proxy: &mut Helper,
) -> Result<(), String> {
    let directory = ScratchDir::with_prefix("airlock-test-rust-case-");
    let mut saved = given(name, server, &directory);
    let mut calls = Calls::new(client);
    for step in case["steps"].as_array().unwrap() {
        if let Some(command) = step["proxy"].as_str() {
            assert_eq!(proxy.tell(command).await, "ok");
            continue;
        }
        let call = step["call"].as_str().unwrap();
        let args = resolved(&step["args"], &saved);
        let (expected, response) = match (step.get("error"), calls.call(call, &args).await) {
            (Some(error), Err(failed)) => (error.clone(), of_error(&failed)),
            (Some(_), Ok(response)) => return Err(format!("{name}: {call} did not fail: {response}")),
            (None, Err(failed)) => return Err(format!("{name}: {call}: {failed}")),
            (None, Ok(response)) => (step.get("expect").cloned().unwrap_or_else(|| json!({})), response),
        };
        if let Some(problem) = difference(&resolved(&expected, &saved), &response, call) {
            return Err(format!("{name}: {problem}"));
        }
        if let Some(key) = step["save"].as_str() {
            saved.insert(key.to_owned(), response);
        }
    }
    calls.close().await
}

/// Runs a case within its time limit.
async fn bounded(
    name: &str,
    case: &Value,
    settings: Settings,
    server: &Value,
    proxy: &mut Helper,
) -> Result<(), String> {
    let client = Client::connect(settings).await.map_err(|error| format!("{name}: {error}"))?;
    let checked = timeout(LIMIT, check(name, case, client, server, proxy)).await;
    checked.unwrap_or_else(|_| Err(format!("{name} has not ended within {LIMIT:?}")))
}

async fn all_cases(server: &Server) -> Vec<String> {
    let address = server.connection.address.trim_start_matches("https://");
    let mut proxy = Helper::start("proxy.py", &[address]).await;
    let old = Helper::start("old_server.py", &[]).await;
    let known = server.known(&proxy);
    let mut failed = Vec::new();
    for (name, case) in cases().iter().filter(|(_, case)| case["cuts"] != "only") {
        let settings = if case["server"] == "old" {
            let mut settings = Settings::new(&old.address);
            settings.insecure_loopback = true;
            settings
        } else {
            settings(&known)
        };
        failed.extend(bounded(name, case, settings, &known, &mut proxy).await.err());
        if proxy.tell("left").await != "none" {
            failed.push(format!("{name}: the cut of the case has not happened"));
        }
    }
    proxy.end().await;
    old.end().await;
    failed
}

async fn all_cases_with_cuts(server: &Server) -> Vec<String> {
    let address = server.connection.address.trim_start_matches("https://");
    let mut proxy = Helper::start("proxy.py", &[address]).await;
    let known = server.known(&proxy);
    assert_eq!(proxy.tell(&format!("every {EVERY}")).await, "ok");
    let mut failed = Vec::new();
    for (name, case) in cases().iter().filter(|(_, case)| case["cuts"] != false) {
        failed.extend(bounded(name, case, settings(&known), &known, &mut proxy).await.err());
    }
    assert_eq!(proxy.tell("every 0").await, "ok");
    let cuts: u32 = proxy.tell("cuts").await.parse().unwrap();
    assert!(cuts > 2, "only {cuts} connections were cut");
    proxy.end().await;
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_passes_the_conformance_cases() {
    let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    assert!(cases().len() > 40);
    let (plain, cut) = tokio::join!(all_cases(&server), all_cases_with_cuts(&server));
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
    let cut: Vec<String> = cut.into_iter().map(|one| format!("with cuts: {one}")).collect();
    let failed = [plain, cut].concat();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}
