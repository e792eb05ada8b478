//! Output arrives exactly for every reader: at once, in pieces, late, or without reading.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use airlock_client::{Client, Events, From, v1};
use airlock_tests::{
    reader::{Story, cause, ended, exit_code, read, replay, spec, spec_in},
    site::{Site, sha256},
    tools::program,
};

const NUMBERS: &str = "seq 1 2000000";

fn bash(command: &str) -> Vec<u8> {
    Command::new("bash").args(["-c", command]).output().unwrap().stdout
}

async fn start(client: &Client, spec: v1::ExecutionSpec) -> String {
    client.start(spec).await.unwrap().execution_id
}

/// Reads until the view has delivered `bytes` bytes of output.
async fn read_some(events: &mut Events, story: &mut Story, bytes: usize) {
    let target = story.stdout.len() + bytes;
    while story.stdout.len() < target && story.end.is_none() {
        match events.next().await.unwrap() {
            Some(event) => story.take(event),
            None => break,
        }
    }
}

#[test]
fn a_local_run_gives_the_bytes_that_bash_gives() {
    let output = Command::new(program("airlock")).args(["run", "--local", "--", NUMBERS]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sha256(&output.stdout), sha256(&bash(NUMBERS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_replaced_ten_times_gets_every_byte_once() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let id = start(&client, spec(NUMBERS)).await;
    let (mut story, mut from) = (Story::default(), From::Beginning);
    for _ in 0..10 {
        // Each view has a separate connection, which is dropped in the middle of the stream.
        let client = site.client().await;
        let mut events = client.attach(&id, from);
        read_some(&mut events, &mut story, 1_000_000).await;
        assert!(story.end.is_none(), "the connection is cut in between");
        from = events.position();
    }
    let mut events = client.attach(&id, from);
    while let Some(event) = events.next().await.unwrap() {
        story.take(event);
    }
    assert_eq!((story.exit_code(), story.missing), (Some(0), 0));
    assert_eq!(sha256(&story.stdout), sha256(&bash(NUMBERS)));
    assert!(story.versions.is_sorted_by(|a, b| a < b), "each state once: {:?}", story.versions);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_client_killed_ten_times_loses_nothing() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let id = start(&client, spec(NUMBERS)).await;
    let (mut bytes, mut cursor) = (Vec::new(), String::new());
    for turn in 0..=10 {
        let mut command = Command::new(program("airlock"));
        command.args(["attach", &id, "--json"]);
        if !cursor.is_empty() {
            command.args(["--cursor", &cursor]);
        }
        site.point(&mut command);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let target = if turn == 10 { usize::MAX } else { bytes.len() + 500_000 };
        while bytes.len() < target && lines.read_line(&mut line).unwrap() > 0 {
            let event: serde_json::Value = serde_json::from_str(&line).expect("one event a line");
            if let Some(text) = event["output"]["text"].as_str() {
                bytes.extend_from_slice(text.as_bytes());
            }
            event["cursor"].as_str().expect("every event has one").clone_into(&mut cursor);
            line.clear();
        }
        if turn < 10 {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert_eq!(status.success(), turn == 10);
    }
    assert_eq!(sha256(&bytes), sha256(&bash(NUMBERS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_readers_hold_up_nobody() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let id = start(&client, spec(NUMBERS)).await;
    let mut stopped = Vec::new();
    for _ in 0..200 {
        let mut events = client.attach(&id, From::Beginning);
        events.next().await.unwrap().expect("it opens");
        stopped.push(events);
    }
    let story = replay(&site.client().await, &id).await.unwrap();
    assert_eq!(story.exit_code(), Some(0));
    assert_eq!(sha256(&story.stdout), sha256(&bash(NUMBERS)), "with 200 stopped readers");

    // A reader that continues late receives everything.
    let late = read(stopped.pop().unwrap()).await.unwrap();
    assert_eq!(sha256(&late.stdout), sha256(&bash(NUMBERS)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_succeeds_while_two_hundred_readers_are_stopped() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let session = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    let id = start(&client, spec_in(&session, "yes 'no end to this'")).await;
    let mut stopped = Vec::new();
    for _ in 0..200 {
        let mut events = client.attach(&id, From::Beginning);
        events.next().await.unwrap().expect("it opens");
        stopped.push(events);
    }
    client.cancel(&id).await.unwrap();
    let end = ended(&client, &id).await;
    assert_eq!(cause(&end), v1::CauseCode::Cancelled, "finished with all 200 still stopped");
    assert_eq!(exit_code(&end), None);
    assert_eq!(stopped.len(), 200);

    let after = airlock_tests::reader::run(&client, spec_in(&session, "echo on")).await.unwrap();
    assert_eq!(after.stdout, b"on\n", "the session continues");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_kept_apart_have_offsets_of_their_own() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let command = "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf '\\0\\377' >&2";
    let apart = v1::ExecutionSpec { separate_stderr: true, ..spec(command) };
    let story = airlock_tests::reader::run(&client, apart).await.unwrap();
    assert_eq!(story.stdout, b"out 1\nout 2\nout 3\n");
    assert_eq!(story.stderr, b"err 1\nerr 2\nerr 3\n\0\xff");
    let story = airlock_tests::reader::run(&client, spec(command)).await.unwrap();
    assert_eq!(story.stdout, b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n\0\xff", "in true order");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_above_the_cap_is_reported_as_a_gap() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let command = "yes xxxxxxxxx | tr -d '\\n' | head -c 100000000; echo; echo the end";
    let id = start(&client, spec(command)).await;
    let end = ended(&client, &id).await;
    assert_eq!(exit_code(&end), Some(0), "{end:?}");
    let story = replay(&client, &id).await.unwrap();
    let (total, cap) = (100_000_000 + 1 + 8, 64 << 20);
    assert_eq!(
        (story.stdout.len() as u64, story.missing),
        (cap, total - cap),
        "as many bytes as the limit are kept"
    );
    assert!(story.stdout.ends_with(b"x\nthe end\n"));
}
