//! Third-party clients run a whole session with only the server's address: they learn the service by
//! reflection.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use airlock_tests::{
    process::{Process, until},
    site::{PATIENCE, Site, sha256},
    tools::{python_packages, tool},
};
use serde_json::{Value, json};

/// The number of lines of `seq 1 20000`.
const NUMBERS: u64 = 20_000;

struct Fixture {
    _server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    fn new() -> Self {
        let site = Site::new();
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        tokio::runtime::Runtime::new().unwrap().block_on(site.ready());
        let project = site.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join("readme.txt"), "a project\n").unwrap();
        fs::write(project.join("src/main.c"), "int main(void) { return 0; }\n").unwrap();
        // This writes the token file.
        site.point(&mut Command::new("true"));
        Self { _server: server, _runner: runner, site }
    }

    fn file(&self, name: &str) -> String {
        self.site.path().join(name).display().to_string()
    }
}

fn numbers() -> String {
    (1..=NUMBERS).map(|number| format!("{number}\n")).collect()
}

fn stdout(output: &Output) -> &[u8] {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {said}", String::from_utf8_lossy(&output.stdout));
    &output.stdout
}

#[test]
fn pythons_grpc_does_a_whole_session_by_reflection() {
    let fixture = Fixture::new();
    let output = Command::new("/usr/bin/python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/session.py"))
        .arg(format!("localhost:{}", fixture.site.address.port()))
        .arg(fixture.site.pki.ca())
        .args([fixture.file("token"), fixture.file("project")])
        .env("PYTHONPATH", python_packages("python"))
        .output()
        .unwrap();
    let saw: Value = serde_json::from_slice(stdout(&output)).unwrap();
    let expected = json!({
        "uploaded_files": 2,
        "output_sha256": sha256(numbers().as_bytes()),
        "exit": {},
        "read_again": true,
        "tail": "19999\n20000\n",
        "found": (19_990..=19_999).map(|n| json!([n, n.to_string()])).collect::<Vec<_>>(),
        "missing": "NOT_FOUND",
        "closed": 4,
    });
    assert_eq!(saw, expected);
    let result = fixture.site.path().join("project.result");
    assert_eq!(fs::read_to_string(result.join("numbers.txt")).unwrap(), numbers());
    assert_eq!(fs::read_to_string(result.join("readme.txt")).unwrap(), "a project\nwritten\n");
    assert_eq!(fs::read_to_string(result.join("src/main.c")).unwrap(), "int main(void) { return 0; }\n");
}

/// `buf curl`, which has no copy of the contract.
struct Curl<'a>(&'a Fixture);

impl Curl<'_> {
    /// Sends these messages, and returns the responses.
    fn call(&self, method: &str, messages: &[Value]) -> Vec<Value> {
        let fixture = self.0;
        let data = fixture.site.path().join("request.json");
        let text: Vec<String> = messages.iter().map(Value::to_string).collect();
        fs::write(&data, text.join("\n")).unwrap();
        let token = fs::read_to_string(fixture.file("token")).unwrap();
        let output = Command::new(tool("buf"))
            .args(["curl", "--protocol", "grpc", "--cacert"])
            .arg(fixture.site.pki.ca())
            .args(["--header", &format!("authorization: Bearer {token}"), "--data"])
            .arg(format!("@{}", data.display()))
            .arg(format!("https://localhost:{}/airlock.v1.{method}", fixture.site.address.port()))
            .env("HOME", fixture.site.path())
            .output()
            .unwrap();
        serde_json::Deserializer::from_slice(stdout(&output)).into_iter().map(Result::unwrap).collect()
    }

    fn one(&self, method: &str, message: &Value) -> Value {
        self.call(method, std::slice::from_ref(message)).remove(0)
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn unbase64(text: &Value) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap_or_default()).unwrap()
}

/// Returns the bytes of the `name` parts, in order.
fn bytes_of(parts: &[Value], name: &str) -> Vec<u8> {
    parts.iter().filter_map(|part| part.get(name)).flat_map(|part| unbase64(&part["data"])).collect()
}

#[test]
fn buf_curl_does_a_whole_session_by_reflection() {
    let fixture = Fixture::new();
    let curl = Curl(&fixture);
    let created = curl.one("SessionService/Create", &json!({ "profile": "sandboxed" }));
    let session = &created["session"]["sessionId"];

    let tar = Command::new("tar").args(["-C", &fixture.file("project"), "-cf", "-", "."]).output().unwrap();
    let header = json!({ "sessionId": session, "path": "project", "format": "FILE_FORMAT_TAR" });
    let mut parts = vec![json!({ "header": header })];
    for (index, chunk) in stdout(&tar).chunks(5000).enumerate() {
        parts.push(json!({ "chunk": { "offset": (index * 5000).to_string(), "data": base64(chunk) } }));
    }
    let uploaded = curl.call("FileService/Upload", &parts).remove(0);
    assert_eq!(uploaded["files"], "2", "{uploaded}");

    let command = "cd project && seq 1 20000 | tee numbers.txt; echo written >> readme.txt";
    let spec = json!({ "spec": { "command": command, "sessionId": session } });
    let events: Vec<Value> = curl
        .call("ExecutionService/Run", &[spec])
        .into_iter()
        .map(|answer| answer["event"].clone())
        .collect();
    assert_eq!(bytes_of(&events, "output"), numbers().as_bytes());
    let execution = &events.last().unwrap()["finished"]["execution"]["executionId"];

    let tail = json!({ "executionId": execution, "tail": { "bytes": "12" } });
    let read = curl.call("ExecutionService/ReadOutput", &[tail]);
    assert_eq!(bytes_of(&read, "output"), b"19999\n20000\n");
    let search = json!({ "executionId": execution, "search": { "pattern": "^1999[0-9]$" } });
    let found = curl.call("ExecutionService/ReadOutput", &[search]);
    assert_eq!(found.iter().filter(|part| part.get("line").is_some()).count(), 10, "{found:?}");

    let list = json!({ "sessionId": session, "path": "project", "recursive": true });
    let listed = curl.one("FileService/List", &list);
    assert_eq!(listed["files"].as_array().unwrap().len(), 4, "{listed}");
    let file = json!({ "sessionId": session, "path": "/workspace/project/readme.txt" });
    let downloaded = curl.call("FileService/Download", &[file]);
    assert_eq!(bytes_of(&downloaded, "chunk"), b"a project\nwritten\n");
    let directory = json!({ "sessionId": session, "path": "project" });
    let archive = fixture.site.path().join("result.tar");
    fs::write(&archive, bytes_of(&curl.call("FileService/Download", &[directory]), "chunk")).unwrap();
    let shown = Command::new("tar").arg("-xOf").arg(&archive).arg("./numbers.txt").output().unwrap();
    let shown = if shown.status.success() {
        shown
    } else {
        Command::new("tar").arg("-xOf").arg(&archive).arg("numbers.txt").output().unwrap()
    };
    assert_eq!(stdout(&shown), numbers().as_bytes());
    let session = json!({ "sessionId": session });
    let mut closed = curl.one("SessionService/Close", &session);
    until("the session is closed", PATIENCE, || {
        let state = closed["session"]["state"].clone();
        assert!(state == "SESSION_STATE_CLOSING" || state == "SESSION_STATE_CLOSED", "{closed}");
        closed = curl.one("SessionService/Get", &session);
        state == "SESSION_STATE_CLOSED"
    });
}
