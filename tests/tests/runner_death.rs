//! The runner is killed. What it ran is ended and said to be lost, its output up to then is readable
//! after the runner's restart, and nothing stray is left.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use airlock_cli::client::{Client, v1};
use airlock_tests::{
    leftovers::Leftovers,
    process::until,
    reader::{cause, read, replay, run, spec_in},
    site::{PATIENCE, Site},
};

const TIMES: usize = 10;

async fn session(client: &Client) -> String {
    client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_runner_ran_is_lost_and_its_output_readable() {
    let site = Site::new();
    let _server = site.server(&[]);
    let mut runner = site.runner(&[]);
    let client = site.ready().await;
    let session = session(&client).await;
    for turn in 0..TIMES {
        let spec = v1::ExecutionSpec {
            request_id: format!("lost-{turn}"),
            ..spec_in(&session, "echo ran >> ran.txt; seq 1 5000; setsid sleep 1000 & sleep 1000")
        };
        let mut events = client.run(spec.clone());
        let mut story = airlock_tests::reader::Story::default();
        while !story.stdout.ends_with(b"\n5000\n") {
            story.take(events.next().await.unwrap().unwrap());
        }
        let id = story_id(&events);
        runner.kill();
        until("the sandbox is gone", PATIENCE, || processes_of(&site).is_empty());

        runner = site.runner(&[]);
        let rest = read(events).await.unwrap_or_default();
        let end = client.wait(&id, PATIENCE).await.unwrap();
        assert_eq!(cause(&end), v1::CauseCode::RunnerLost, "turn {turn}: {end:?}");
        assert_eq!(end.result.unwrap().started(), v1::Started::Yes);
        assert!(rest.stdout.is_empty(), "turn {turn}: nothing new came");

        let story = replay(&client, &id).await.unwrap();
        assert!(story.stdout.starts_with(b"1\n2\n") && story.stdout.ends_with(b"\n5000\n"), "turn {turn}");
        assert_eq!(client.start(spec).await.unwrap().execution_id, id, "the same key starts nothing");
        let count = run(&client, spec_in(&session, "wc -l < ran.txt")).await.unwrap();
        assert_eq!(count.stdout, format!("{}\n", turn + 1).into_bytes(), "turn {turn}: it ran once");
    }
    let mounts = Leftovers::look(&site.mark()).mounts;
    assert!(mounts.is_empty(), "no mount is left: {mounts:?}");
}

fn story_id(events: &airlock_cli::client::Events) -> String {
    events.execution_id().unwrap().to_owned()
}

/// Processes that live in this site's folders, but for its server and runner.
fn processes_of(site: &Site) -> Vec<String> {
    Leftovers::look(&site.mark())
        .processes
        .into_iter()
        .filter(|line| !line.contains("airlock-server") && !line.contains("airlock-runner"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_runner_an_execution_waits_and_then_says_so() {
    let site = Site::with_tables("[limits]\nqueue_wait = \"2s\"\n", "");
    let _server = site.server(&[]);
    let runner = site.runner(&[]);
    let client = site.ready().await;
    let session = session(&client).await;
    runner.kill();
    let id = client.start(spec_in(&session, "echo never")).await.unwrap().execution_id;
    let end = client.wait(&id, PATIENCE).await.unwrap();
    assert_eq!(cause(&end), v1::CauseCode::QueueExpired, "{end:?}");
    assert_eq!(end.result.unwrap().started(), v1::Started::No);
    let story = tokio::time::timeout(Duration::from_secs(10), replay(&client, &id)).await.unwrap().unwrap();
    assert!(story.stdout.is_empty() && story.end.is_some());
}
