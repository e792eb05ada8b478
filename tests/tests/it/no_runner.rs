//! Where the runner is gone and nobody says that it is lost yet, what waits for it says so in time.

use std::time::Duration;

use airlock_cli::client::v1;
use airlock_tests::{
    reader::{cause, replay, spec_in},
    site::{PATIENCE, Site},
};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_runner_an_execution_waits_and_then_says_so() {
    let site = Site::with_tables("[limits]\nqueue_wait = \"2s\"\n", "");
    let _server = site.server(&[]);
    let runner = site.runner(&[]);
    let client = site.ready().await;
    let session = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    runner.kill();
    let id = client.start(spec_in(&session, "echo never")).await.unwrap().execution_id;
    let end = client.wait(&id, PATIENCE).await.unwrap();
    assert_eq!(cause(&end), v1::CauseCode::QueueExpired, "{end:?}");
    assert_eq!(end.result.unwrap().started(), v1::Started::No);
    let story = tokio::time::timeout(Duration::from_secs(10), replay(&client, &id)).await.unwrap().unwrap();
    assert!(story.stdout.is_empty() && story.end.is_some());
}
