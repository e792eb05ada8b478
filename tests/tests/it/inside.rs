//! End-to-end tests of the objects that a command can reach: over gRPC, through policy, on a runner. A program inside
//! attempts attacks; each has a control that shows that it succeeds when the layer is off.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, net::TcpListener, path::PathBuf, process::Command};

use airlock_client::{Client, v1};
use airlock_tests::{
    process::{Process, until},
    reader::{Story, run, spec_in},
    site::{PATIENCE, Site},
    tools::program,
};

const SECRET: &str = "a-secret-of-the-runners-environment";

struct Inside {
    client: Client,
    session: String,
    server: Process,
    runner: Process,
    // The last field, because its directory is removed with it.
    site: Site,
}

impl Inside {
    async fn new() -> Self {
        let site = Site::new();
        fs::copy(program("airlock-probe"), site.base().join("probe")).unwrap();
        let (server, runner) = (site.server(&[]), site.runner(&[("AIRLOCK_TEST_SECRET", SECRET)]));
        let client = site.ready().await;
        let session = new_session(&client).await;
        Self { client, session, server, runner, site }
    }

    async fn run(&self, command: &str) -> Story {
        run(&self.client, spec_in(&self.session, command)).await.unwrap()
    }

    /// Returns a duration for `sleep` that is longer than a test and unique to it.
    fn seconds(&self, number: u8) -> String {
        format!("8639{number}.{}", self.site.address.port())
    }

    async fn decision(&self, story: &Story) -> v1::Decision {
        let id = &story.end.as_ref().unwrap().execution_id;
        self.client.execution(id).await.unwrap().decision.unwrap()
    }

    /// Runs the probe inside and returns its findings.
    async fn probe(&self, words: &str) -> serde_json::Value {
        let story = self.run(&format!("/workspace/probe {words}")).await;
        findings(&story.stdout)
    }
}

async fn new_session(client: &Client) -> String {
    let request = v1::SessionServiceCreateRequest { base: "base".to_owned(), ..Default::default() };
    client.create_session(request).await.unwrap().session_id
}

/// Runs the control: the same probe on the host, as the runner's user.
fn outside(words: &[&str]) -> serde_json::Value {
    let output = Command::new(program("airlock-probe")).args(words).output().unwrap();
    findings(&output.stdout)
}

fn findings(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
}

/// Returns the processes on the host with `text` in their command line.
fn host_processes(text: &str) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(|directory| {
        let line = fs::read(directory.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(text) && line.starts_with("sleep")
    })
    .collect()
}

fn host_uids(directory: &PathBuf) -> Vec<u32> {
    let status = fs::read_to_string(PathBuf::from(directory).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    line.split_whitespace().skip(1).map(|uid| uid.parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_has_host_uid_zero_or_the_uid_of_another_session() {
    let inside = Inside::new().await;
    let other = new_session(&inside.client).await;
    let mut seen = Vec::new();
    for (session, seconds) in [(&inside.session, inside.seconds(1)), (&other, inside.seconds(2))] {
        let id =
            inside.client.start(spec_in(session, &format!("sleep {seconds}"))).await.unwrap().execution_id;
        until("the command runs", PATIENCE, || !host_processes(&seconds).is_empty());
        let uids = host_uids(&host_processes(&seconds)[0]);
        assert!(uids.iter().all(|uid| *uid != 0 && *uid == uids[0]), "{uids:?}");
        seen.push(uids[0]);
        inside.client.cancel(&id).await.unwrap();
    }
    assert_ne!(seen[0], seen[1], "each session has its own user");
    let control = host_uids(&PathBuf::from("/proc/self"));
    assert_eq!(control[0], 0, "control: this test runs as root, and so did the runner");
    assert_eq!(inside.run("id -u").await.stdout, b"1000\n", "and inside it has an ordinary user");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_has_a_capability() {
    let inside = Inside::new().await;
    assert_eq!(inside.probe("capabilities").await["reached"], false);
    assert_eq!(inside.probe("gain-privileges").await["reached"], false);
    assert_eq!(outside(&["capabilities"])["reached"], true, "control");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_has_a_network_but_its_loopback() {
    let inside = Inside::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert_eq!(inside.probe("interfaces").await["reached"], false);
    assert_eq!(inside.probe(&format!("connect {address}")).await["reached"], false);
    assert_eq!(outside(&["connect", &address])["reached"], true, "control: the host's loopback answers");
    let server = format!("connect {}", inside.site.address);
    assert_eq!(inside.probe(&server).await["reached"], false, "and not Airlock's own server");
    let own = "coproc /workspace/probe listen; read -r a <&${COPROC[0]}; /workspace/probe connect $a";
    let own = findings(&inside.run(own).await.stdout);
    assert_eq!(own["reached"], true, "control: the session's own loopback answers: {own}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_variable_of_the_runner_gets_in() {
    let inside = Inside::new().await;
    assert_eq!(inside.probe(&format!("environment {}", &SECRET[..20])).await["reached"], false);
    let runner = fs::read(format!("/proc/{}/environ", inside.runner.pid())).unwrap();
    assert!(String::from_utf8_lossy(&runner).contains(SECRET), "control: the runner has it");
    let env = [("MINE".to_owned(), SECRET.into())].into();
    let with = v1::ExecutionSpec {
        env,
        ..spec_in(&inside.session, &format!("/workspace/probe environment {SECRET}"))
    };
    let found = findings(&run(&inside.client, with).await.unwrap().stdout);
    assert_eq!(found["reached"], true, "control: what the request sets is there: {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_of_another_session_or_of_the_host_can_be_read() {
    let inside = Inside::new().await;
    inside
        .run("echo mine > /workspace/secret.txt; echo mine > ~/secret.txt; echo mine > /tmp/secret.txt")
        .await;
    let other = new_session(&inside.client).await;
    let in_other = |words: String| {
        let (client, other) = (inside.client.clone(), other.clone());
        async move {
            findings(
                &run(&client, spec_in(&other, &format!("/workspace/probe {words}"))).await.unwrap().stdout,
            )
        }
    };
    let output = Command::new("find").arg(inside.site.path()).args(["-name", "secret.txt"]).output().unwrap();
    let paths: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(paths.len(), 3, "control: they are on the host: {paths:?}");
    for path in paths.iter().map(String::as_str).chain([
        "/workspace/secret.txt",
        "/home/agent/secret.txt",
        "/tmp/secret.txt",
        "/etc/shadow",
        "/root",
    ]) {
        let found = in_other(format!("read {path}")).await;
        assert_eq!(found["reached"], false, "{path}: {found}");
    }
    let own = inside.probe("read /workspace/secret.txt").await;
    assert_eq!(own["reached"], true, "control: the session itself can: {own}");
    assert_eq!(outside(&["read", "/etc/shadow"])["reached"], true, "control: root on the host can");
    for path in ["server.toml", "airlock.db", "runner-1", "pki/server.key"] {
        let path = inside.site.path().join(path);
        assert!(path.exists(), "control: {} is there", path.display());
        let found = inside.probe(&format!("read {}", path.display())).await;
        assert_eq!(found["reached"], false, "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_the_host_or_of_another_session_is_seen() {
    let inside = Inside::new().await;
    let (on_host, in_other) = (inside.seconds(3), inside.seconds(4));
    let mark = Process::start(Command::new("sleep").arg(&on_host), &inside.site.log("mark"));
    until("the host's command runs", PATIENCE, || !host_processes(&on_host).is_empty());
    let other = new_session(&inside.client).await;
    let id = inside.client.start(spec_in(&other, &format!("sleep {in_other}"))).await.unwrap().execution_id;
    until("the other session's command runs", PATIENCE, || !host_processes(&in_other).is_empty());
    for word in [&on_host, &in_other, &mark.pid().to_string(), &inside.server.pid().to_string()] {
        let found = inside.probe(&format!("process {word}")).await;
        assert_eq!(found["reached"], false, "{word}: {found}");
    }
    for word in [&on_host, &in_other] {
        assert_eq!(outside(&["process", word])["reached"], true, "control: the host sees {word}");
    }
    inside.client.cancel(&id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_command_cannot_write_even_if_the_policy_is_wrong() {
    let inside = Inside::new().await;
    // git runs programs from a repository's configuration, which the policy cannot see. Planted files are masked, and
    // the mounts block the rest.
    let plant = "git init -q . && printf '#!/bin/sh\\ntouch /workspace/pwned ~/pwned /tmp/pwned\\ncat\\n' > planted \
                 && chmod +x planted && echo '* filter=planted' > .gitattributes && echo 1 > a && git add . \
                 && git config filter.planted.clean ./planted && sleep 1 && echo 2 > a; rm -f pwned ~/pwned /tmp/pwned";
    assert_eq!(inside.run(plant).await.exit_code(), Some(0));
    let look = "ls /workspace/pwned ~/pwned /tmp/pwned 2>/dev/null";

    let status = inside.run("git status --short").await;
    assert!(inside.decision(&status).await.read_only);
    let said = String::from_utf8_lossy(&status.stdout);
    assert!(said.contains("AM a") && !said.contains("Read-only file system"), "it did not run: {said}");
    assert_eq!(inside.run(look).await.stdout, b"", "no file was written");

    let control = inside.run("git status --short > status.txt 2>&1").await;
    assert!(!inside.decision(&control).await.read_only);
    let seen = inside.run(look).await.stdout;
    let seen = String::from_utf8_lossy(&seen);
    assert_eq!(seen.lines().count(), 3, "control: on writable mounts the planted program writes: {seen}");

    let private = inside.run("echo $TMPDIR").await;
    assert!(inside.decision(&private).await.read_only);
    assert_eq!(
        private.stdout, b"/var/tmp\n",
        "a read-only command has a directory of its own for temporary files"
    );
}
