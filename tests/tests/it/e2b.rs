//! `airlock-e2b` on an `airlock dev`: what a hostile caller sends, and the official SDKs of E2B, unmodified.
//!
//! `tests/e2b/methods.tsv` lists every public method of the SDKs with its result. `tests/e2b/methods.py` and `methods.mjs`
//! list the methods by reflection and call each.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use airlock_mounts::ScratchDir;
use airlock_tests::{
    pki::Pki,
    process::{Process, until},
    site::PATIENCE,
    tools::program,
};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A dev and a front. Both are stopped by a signal.
struct Servers {
    processes: Vec<Process>,
    directory: ScratchDir,
    key: String,
    url: String,
}

impl Servers {
    fn start() -> Self {
        Self::start_with("")
    }

    /// Starts the servers with more tables in the configuration of the front.
    fn start_with(more: &str) -> Self {
        let directory = ScratchDir::with_prefix("airlock-test-e2b-");
        let mut servers = Self { processes: Vec::new(), directory, key: String::new(), url: String::new() };
        let state = servers.state();
        let mut dev = Command::new(program("airlock"));
        dev.arg("dev").arg("--state").arg(&state);
        servers.process(&mut dev);
        until("the dev accepts commands", PATIENCE, || state.join("connection.json").exists());
        let config = servers.configure("agent.token", more);
        let mut front = Command::new(program("airlock-e2b"));
        front.arg("--config").arg(config);
        servers.process(&mut front);
        let named = |servers: &Self| {
            let log = servers.processes.last().unwrap().output();
            log.split_whitespace().find(|word| word.starts_with("http")).map(str::to_owned)
        };
        until("the front listens", PATIENCE, || named(&servers).is_some());
        servers.url = named(&servers).unwrap();
        servers
    }

    fn process(&mut self, command: &mut Command) {
        command.env("HOME", self.directory.path());
        let log = self.directory.path().join(format!("{}.log", self.processes.len()));
        self.processes.push(Process::start(command, &log));
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Writes a configuration with a new API key for an identity of the dev.
    fn configure(&mut self, token: &str, more: &str) -> PathBuf {
        let made = Command::new(program("airlock-e2b")).arg("new-key").output().unwrap();
        let made = String::from_utf8(made.stdout).unwrap();
        let (key, hash) = made.split_once('\n').unwrap();
        self.key = key.strip_prefix("E2B_API_KEY=").unwrap().to_owned();
        let state = self.state();
        let connection = fs::read_to_string(state.join("connection.json")).unwrap();
        let connection: Value = serde_json::from_str(&connection).unwrap();
        let config = format!(
            "listen = \"127.0.0.1:0\"\n[server]\naddress = {}\nca = \"{keys}/ca.pem\"\n\
             [[key]]\nname = \"test\"\n{hash}token_file = \"{keys}/{token}\"\n{more}",
            connection["address"],
            keys = state.join("keys").display()
        );
        let path = self.directory.path().join(format!("{token}.toml"));
        fs::write(&path, config).unwrap();
        path
    }

    fn log(&self) -> String {
        self.processes.iter().map(Process::output).collect()
    }

    /// Sends a request over HTTP/1.1. Returns its status and body.
    fn send(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut text = format!("{head} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            text.push_str("host: localhost\r\n");
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        // The front may refuse a body before it has received all of it.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status.unwrap_or_default(), body)
    }

    fn create(&self) -> (String, String) {
        let headers = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        let (status, body) = self.send("POST /v2/sandboxes", &headers, b"{\"templateID\":\"base\"}");
        assert_eq!(status, 201, "{body}");
        let created = json(&body);
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        (text("sandboxID"), text("envdAccessToken"))
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

/// Returns the JSON object of a body, which can be in chunks.
fn json(body: &str) -> Value {
    let object = body.find('{').zip(body.rfind('}')).and_then(|(first, last)| body.get(first..=last));
    serde_json::from_str(object.unwrap_or(body)).unwrap()
}

fn envelope(flags: u8, length: u32, text: &[u8]) -> Vec<u8> {
    [&[flags], length.to_be_bytes().as_slice(), text].concat()
}

#[test]
fn an_identity_that_may_use_the_mode_bypass_is_refused() {
    let mut servers = Servers::start();
    let config = servers.configure("client.token", "");
    let Output { status, stderr, .. } =
        Command::new(program("airlock-e2b")).arg("--config").arg(config).output().unwrap();
    let says = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{says}");
    assert!(says.contains("key `test`") && says.contains("permits the mode bypass"), "{says}");
}

/// What is sent: its description, head, headers and body, and the status of the response.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8], u16);

#[test]
fn a_hostile_caller_gets_errors_only() {
    let servers = Servers::start();
    let key = servers.key.clone();
    let ((one, token), (other, _)) = (servers.create(), servers.create());
    let api = [("x-api-key", key.as_str())];
    let named = [("e2b-sandbox-id", one.as_str()), ("x-access-token", token.as_str())];
    let call = [named[0], named[1], ("content-type", "application/json")];
    let foreign = [("e2b-sandbox-id", other.as_str()), ("x-access-token", token.as_str())];
    let unknown = [("e2b-sandbox-id", "iunknown"), ("x-access-token", token.as_str())];
    let long = vec![b'a'; 9 << 20];
    let cases: &[Case<'_>] = &[
        ("no API key", "GET /v2/sandboxes", &[], b"", 401),
        ("a wrong API key", "GET /v2/sandboxes", &[("x-api-key", "e2b_00")], b"", 401),
        ("the token of another sandbox", "GET /health", &foreign, b"", 401),
        ("an API key instead of a token", "GET /health", &[named[0], ("x-access-token", &key)], b"", 401),
        ("no token", "GET /health", &named[..1], b"", 401),
        ("an unknown sandbox", "GET /health", &unknown, b"", 502),
        ("no sandbox", "GET /files?path=a", &[], b"", 400),
        ("a body that is no JSON", "POST /v2/sandboxes", &api, b"{", 400),
        ("a body of another type", "POST /v2/sandboxes", &api, b"[1]", 400),
        ("a long body", "POST /v2/sandboxes", &api, &long, 413),
        ("a timeout above the limit", "POST /v2/sandboxes", &api, b"{\"timeout\":9999999999}", 400),
        ("a negative timeout", "POST /v2/sandboxes", &api, b"{\"timeout\":-1}", 400),
        ("memory in a pause", &format!("POST /sandboxes/{one}/pause"), &api, b"{}", 501),
        ("templates", "POST /v3/templates", &api, b"{}", 501),
        ("volumes", "GET /volumes", &api, b"", 501),
        ("an unknown call", "GET /nothing", &api, b"", 404),
        ("another method", "POST /process.Process/Nothing", &call, b"{}", 501),
        ("another encoding", "POST /process.Process/List", &named, b"{}", 501),
        ("a message that is no JSON", "POST /process.Process/SendSignal", &call, b"{\"process\":[", 400),
        ("a long message", "POST /process.Process/List", &call, &long, 429),
        ("a process of nobody", "POST /process.Process/CloseStdin", &call, b"{\"process\":{\"pid\":1}}", 404),
        ("a file outside", "GET /files?path=/etc/shadow", &named, b"", 400),
        ("a file above", "GET /files?path=../../../etc/shadow", &named, b"", 400),
        ("a file with NUL", "GET /files?path=a%00b", &named, b"", 400),
        ("another user", "GET /files?path=a&username=root", &named, b"", 400),
        ("a file of no type", "POST /files?path=a", &named, b"x", 400),
        ("a signature of nobody", "GET /files?path=a&signature=v1_x", &[], b"", 401),
        ("a signature without a path", "GET /files?signature=v1_x", &[], b"", 400),
        (
            "an expiration that is no time",
            "GET /files?path=a&signature=x&signature_expiration=y",
            &[],
            b"",
            401,
        ),
        ("a port without its token", "GET /", &[("host", &format!("8000-{one}.x.example"))], b"", 401),
    ];
    for (what, head, headers, body, expected) in cases {
        let (status, answer) = servers.send(head, headers, body);
        assert_eq!(status, *expected, "{what}: {answer}\n{}", servers.log());
        assert!(!answer.contains("root:"), "{what}: {answer}");
    }
    let (status, answer) = servers.send("GET /v2/sandboxes", &api, b"");
    assert!(
        status == 200 && answer.contains(&one) && !answer.contains(&token),
        "a list has no token: {answer}"
    );
}

#[test]
fn hostile_messages_of_a_stream_are_errors() {
    let servers = Servers::start();
    let (sandbox, token) = servers.create();
    let stream = [
        ("e2b-sandbox-id", sandbox.as_str()),
        ("x-access-token", token.as_str()),
        ("content-type", "application/connect+json"),
    ];
    let start = "POST /process.Process/Start";
    let whole = br#"{"process":{"cmd":"/bin/bash","args":["-l","-c","true"]}}"#;
    let streams: &[(&str, Vec<u8>, &str)] = &[
        ("nothing", Vec::new(), "invalid_argument"),
        ("half of a head", vec![0, 0, 0], "invalid_argument"),
        ("half of a message", envelope(0, 100, b"{}"), "invalid_argument"),
        ("a message of 4 GiB", envelope(0, u32::MAX, b"{}"), "resource_exhausted"),
        ("a compressed message", envelope(1, 2, b"{}"), "unimplemented"),
        ("a message that is no JSON", envelope(0, 2, b"{{"), "invalid_argument"),
        ("an end without a message", envelope(2, 2, b"{}"), "invalid_argument"),
        ("two messages", [envelope(0, 57, whole), envelope(0, 57, whole)].concat(), "invalid_argument"),
    ];
    for (what, body, code) in streams {
        let (status, answer) = servers.send(start, &stream, body);
        assert_eq!(status, 200, "{what}: {answer}");
        assert_eq!(json(&answer)["error"]["code"], **code, "{what}: {answer}");
    }
    let (status, answer) = servers.send(start, &stream, &envelope(0, 57, whole));
    assert!(status == 200 && answer.contains("\"exitCode\":0"), "the control: {answer}\n{}", servers.log());
}

#[test]
fn the_front_serves_tls_in_both_versions_of_http() {
    let authority = ScratchDir::with_prefix("airlock-test-e2b-pki-");
    let pki = Pki::new(authority.path());
    let pair = pki.issue("front", &["127.0.0.1"]);
    let (certificate, private) = (pair.certificate.display(), pair.key.display());
    let tls = format!("[tls]\ncertificate = \"{certificate}\"\nkey = \"{private}\"\n");
    let servers = Servers::start_with(&tls);
    let curl = |version: &str, authority: &Path| {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", version, "--write-out", "%{http_code} %{http_version}"])
            .args(["--header", &format!("x-api-key: {}", servers.key), "--cacert"])
            .arg(authority)
            .arg(format!("{}/v2/sandboxes", servers.url))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(curl("--http1.1", &pki.ca()), "[]200 1.1", "{}", servers.log());
    assert_eq!(curl("--http2", &pki.ca()), "[]200 2", "{}", servers.log());
    assert_eq!(curl("--http2", &servers.state().join("keys/ca.pem")), "000 0", "another authority");
}

/// Third-party packages.
mod long {
    use std::collections::BTreeMap;

    use airlock_tests::{
        source,
        tools::{e2b_npm, python_packages, tool},
    };

    use super::*;

    /// The part of the methods that must work.
    const PERCENT: usize = 95;

    /// Runs the program that calls every method, and compares its report with the list.
    fn check(sdk: &str, servers: &Servers, program: &Path, arguments: &[&str], variables: &[(&str, &Path)]) {
        let output = Command::new(program)
            .args(arguments)
            .env("E2B_API_URL", &servers.url)
            .env("E2B_SANDBOX_URL", &servers.url)
            .env("E2B_API_KEY", &servers.key)
            .env("HOME", servers.directory.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let (report, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{report}\n{errors}\n{}", servers.log());
        let list = fs::read_to_string(source::root().join("tests/e2b/methods.tsv")).unwrap();
        let of_list: BTreeMap<&str, &str> = list
            .lines()
            .filter_map(|line| line.strip_prefix(sdk)?.strip_prefix('\t')?.split_once('\t'))
            .collect();
        let found: BTreeMap<&str, &str> = report.lines().filter_map(|line| line.split_once('\t')).collect();
        assert_eq!(found, of_list, "{errors}\n{}", servers.log());
        let works = found.values().filter(|result| **result == "works").count();
        assert!(works * 100 >= found.len() * PERCENT, "{works} of {} methods work", found.len());
    }

    fn python(mode: &str) {
        let servers = Servers::start();
        let packages = python_packages("e2b");
        let script = source::root().join("tests/e2b/methods.py").display().to_string();
        let variables = [("PYTHONPATH", packages.as_path())];
        check(mode, &servers, Path::new("/usr/bin/python3"), &[&script, mode], &variables);
    }

    #[test]
    fn the_sdk_for_python_works() {
        python("sync");
    }

    #[test]
    fn the_sdk_for_asyncio_works() {
        python("async");
    }

    #[test]
    fn the_sdk_for_javascript_works() {
        let servers = Servers::start();
        let packages = servers.directory.path().join("packages");
        fs::create_dir(&packages).unwrap();
        for name in ["package.json", "package-lock.json"] {
            fs::copy(source::root().join("tests/e2b").join(name), packages.join(name)).unwrap();
        }
        let installed = Command::new("npm")
            .args(["ci", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--cache"])
            .arg(e2b_npm())
            .current_dir(&packages)
            .env("HOME", servers.directory.path())
            .output()
            .unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let script = source::root().join("tests/e2b/methods.mjs").display().to_string();
        let packages = packages.display().to_string();
        check("javascript", &servers, &tool("node24"), &[&script, &packages], &[]);
    }
}
