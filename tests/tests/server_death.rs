//! The server is killed at every step of a start. Whatever the step, the command runs once or not at
//! all, and its end and every byte of its output are there afterwards.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::os::unix::process::ExitStatusExt as _;

use airlock_cli::client::{Client, v1};
use airlock_tests::{
    process::Process,
    reader::{exit_code, replay, run, spec_in},
    site::{PATIENCE, Site},
};

const TIMES: usize = 10;

/// Leaves a line in the workspace for each time it runs, and writes before, while and after the server
/// is away.
const COMMAND: &str = "echo ran >> ran.txt; seq 1 20000; sleep 0.5; seq 20001 40000; exit 7";

fn expected() -> Vec<u8> {
    (1..=40_000).flat_map(|number: u32| format!("{number}\n").into_bytes()).collect()
}

async fn session(client: &Client) -> String {
    client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id
}

/// Waits for the server to die by the fault point, and starts it again without one.
fn restart(site: &Site, mut server: Process, fault: &str) -> Process {
    let status = server.wait(PATIENCE).unwrap_or_else(|| panic!("{fault} was not hit:\n{}", server.output()));
    assert_eq!(status.signal(), Some(9), "it died at {fault}:\n{}", server.output());
    site.server(&[])
}

/// Sends the start once, whatever comes of it: the server dies on the way.
fn start_and_forget(client: &Client, spec: &v1::ExecutionSpec) -> tokio::task::JoinHandle<()> {
    let (client, spec) = (client.clone(), spec.clone());
    tokio::spawn(async move { drop(client.start(spec).await) })
}

async fn killed_at(fault: &str) {
    let site = Site::new();
    let _runner = site.runner(&[]);
    for turn in 0..TIMES {
        let server = site.server(&[("AIRLOCK_FAULT", fault)]);
        let client = site.ready().await;
        let session = session(&client).await;
        let spec = v1::ExecutionSpec { request_id: format!("{fault}-{turn}"), ..spec_in(&session, COMMAND) };
        let first = start_and_forget(&client, &spec);
        let server = restart(&site, server, fault);
        first.abort();

        let client = site.ready().await;
        let execution = client.start(spec.clone()).await.unwrap();
        let story = replay(&client, &execution.execution_id).await.unwrap();
        assert_eq!(story.exit_code(), Some(7), "turn {turn}: {:?}", story.end);
        assert_eq!((story.stdout == expected(), story.missing), (true, 0), "turn {turn}: every byte");
        let again = client.start(spec).await.unwrap();
        assert_eq!(again.execution_id, execution.execution_id, "turn {turn}: one key, one execution");
        let count = run(&client, spec_in(&session, "wc -l < ran.txt")).await.unwrap();
        assert_eq!(count.stdout, b"1\n", "turn {turn}: it ran once");
        client.close_session(&session).await.unwrap();
        assert!(server.terminate(PATIENCE).success(), "turn {turn}: ends in order");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_audit_entry() {
    killed_at("before_audit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_audit_entry() {
    killed_at("after_audit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_start_was_sent() {
    killed_at("after_start_job_sent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_runner_accepted() {
    killed_at("after_accepted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_runs() {
    killed_at("while_running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_end() {
    killed_at("after_end").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_without_a_fault_point() {
    let site = Site::new();
    let _runner = site.runner(&[]);
    for turn in 0..TIMES {
        let server = site.server(&[]);
        let client = site.ready().await;
        let session = session(&client).await;
        let spec = v1::ExecutionSpec { request_id: format!("any-{turn}"), ..spec_in(&session, COMMAND) };
        let first = start_and_forget(&client, &spec);
        tokio::time::sleep(std::time::Duration::from_millis(u64::try_from(turn).unwrap() * 7)).await;
        server.kill();
        first.abort();
        let server = site.server(&[]);
        let client = site.ready().await;
        let execution = client.start(spec).await.unwrap();
        let end = client.wait(&execution.execution_id, PATIENCE).await.unwrap();
        assert_eq!(exit_code(&end), Some(7), "turn {turn}: {end:?}");
        let count = run(&client, spec_in(&session, "wc -l < ran.txt")).await.unwrap();
        assert_eq!(count.stdout, b"1\n", "turn {turn}: it ran once");
        assert!(server.terminate(PATIENCE).success());
    }
}
