//! One server on PostgreSQL and S3 with a runner, as processes. It behaves as on SQLite and a directory, also
//! during outages.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use airlock_client::{Client, OutputPiece, Selection, v1};
use airlock_tests::{
    cutter::Cutter,
    engines::{Bucket, Database},
    process::Process,
    reader::{ended, exit_code, run, running, spec, spec_in, stored},
    site::{Extras, PATIENCE, Site},
};

/// An output of 108,894 bytes, more than an inline result contains.
const NUMBERS: &str = "seq 1 20000";

/// The database and the bucket are each behind a relay.
struct Fixture {
    client: Client,
    server: Option<Process>,
    _runner: Process,
    database: (Database, Cutter),
    bucket: (Bucket, Cutter),
    site: Site,
}

impl Fixture {
    async fn new(notify: bool) -> Self {
        let (database, bucket) = (Database::new(), Bucket::new());
        let (to_database, to_bucket) = (Cutter::still(database.address()), Cutter::still(bucket.address()));
        let tables =
            [database.table(to_database.address.port(), notify), bucket.table(to_bucket.address.port())];
        let site = Site::with(Extras { state: tables.concat(), ..Extras::default() });
        let (server, runner) = (site.server(&Bucket::KEYS), site.runner(&[]));
        let client = site.ready().await;
        Self {
            client,
            server: Some(server),
            _runner: runner,
            database: (database, to_database),
            bucket: (bucket, to_bucket),
            site,
        }
    }

    async fn output_state(&self, id: &str) -> v1::OutputState {
        self.client.execution(id).await.unwrap().output_state()
    }

    async fn until_stored(&self, id: &str) {
        stored(&self.client, id).await;
    }

    async fn read(&self, id: &str) -> Vec<u8> {
        let mut parts = self.client.read_output(id, v1::OutputStream::Stdout, Selection::All);
        let mut bytes = Vec::new();
        while let Some(part) = parts.next().await.unwrap() {
            match part {
                OutputPiece::Bytes { data, .. } => bytes.extend_from_slice(&data),
                OutputPiece::Done(_) => {}
                other => panic!("{other:?}"),
            }
        }
        bytes
    }

    fn restart(&mut self) {
        drop(self.server.take());
        self.server = Some(self.site.server(&Bucket::KEYS));
    }
}

fn numbers() -> Vec<u8> {
    (1..=20_000).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_survive_a_restart_and_their_output_is_in_the_bucket() {
    let mut fixture = Fixture::new(true).await;
    let story = run(&fixture.client, spec(NUMBERS)).await.unwrap();
    assert_eq!((story.exit_code(), story.stdout), (Some(0), numbers()));
    let id = story.end.unwrap().execution_id;
    fixture.until_stored(&id).await;
    assert!(fixture.bucket.0.list().contains(&format!("<Key>{id}/manifest.json</Key>")));
    assert!(
        !fixture.site.path().join("outputs").exists() && !fixture.site.path().join("airlock.db").exists()
    );
    assert_eq!(fixture.database.0.ask("SELECT count(*) FROM audit_closed"), "1");

    fixture.restart();
    fixture.client = fixture.site.ready().await;
    assert_eq!(exit_code(&fixture.client.execution(&id).await.unwrap()), Some(0));
    assert_eq!(fixture.read(&id).await, numbers());
}

#[tokio::test(flavor = "multi_thread")]
async fn output_waits_on_its_runner_while_the_bucket_is_away() {
    let fixture = Fixture::new(true).await;
    fixture.bucket.1.set_down(true);
    let story = run(&fixture.client, spec(NUMBERS)).await.unwrap();
    assert_eq!((story.exit_code(), story.stdout), (Some(0), numbers()));
    let id = story.end.unwrap().execution_id;
    assert_eq!(fixture.read(&id).await, numbers(), "from the runner");
    let state = fixture.output_state(&id).await;
    assert!(matches!(state, v1::OutputState::Live | v1::OutputState::Storing), "{state:?}");
    assert!(!fixture.bucket.0.list().contains(&id));
    fixture.bucket.1.set_down(false);
    fixture.until_stored(&id).await;
    assert_eq!(fixture.read(&id).await, numbers(), "from the bucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_commands_go_on_and_new_ones_are_refused() {
    let fixture = Fixture::new(false).await;
    let request = v1::SessionServiceCreateRequest::default();
    let session = fixture.client.create_session(request).await.unwrap().session_id;
    let hold = spec_in(&session, "until [ -e go ]; do sleep 0.05; done; echo done");
    let held = fixture.client.start(hold).await.unwrap().execution_id;
    running(&fixture.client, &held).await;

    fixture.database.1.set_down(true);
    // A client that does not retry.
    let mut settings = fixture.site.settings();
    settings.patience.call = Duration::ZERO;
    let hasty = Client::connect(settings).await.unwrap();
    let refused = hasty.start(spec("echo never")).await.unwrap_err();
    assert_eq!(refused.rejection().unwrap().reason, "STORE_UNAVAILABLE", "{refused}");
    assert!(refused.is_passing() && refused.retry_after().is_some(), "{refused}");
    fixture.database.1.set_down(false);

    let beside = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "touch go") };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let touched = loop {
        match run(&fixture.client, beside.clone()).await {
            Ok(story) => break story,
            Err(error) => assert!(error.is_passing() && tokio::time::Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(touched.exit_code(), Some(0));
    assert_eq!(exit_code(&ended(&fixture.client, &held).await), Some(0));
    assert_eq!(fixture.read(&held).await, b"done\n");
    let commands = fixture.database.0.ask("SELECT count(*) FROM executions");
    assert_eq!(commands, "2", "a refused upload left no object");
}
