//! Expired outputs are removed, and the store reports their state correctly at every moment.

use airlock_domain::OutputState;
use airlock_store::{
    Created, ExecutionStore as _, NewExecution, SessionStore as _,
    record::{ExecutionRecord, SessionRecord},
    sqlite::{SqliteOptions, SqliteStore},
    testing::{self, records},
};

use super::{super::retention::Retention, *};

struct World {
    store: Arc<SqliteStore>,
    session: SessionRecord,
    outputs: Arc<Outputs>,
    directory: TempDir,
}

impl World {
    async fn new() -> Self {
        let (outputs, directory) = local();
        let store =
            SqliteStore::open(&directory.path().join("airlock.db"), SqliteOptions::default()).await.unwrap();
        let session = records::session(&testing::execution().tenant);
        let Created::New(session) = store.create_session(session, 1).await.unwrap() else {
            panic!("the store was not empty")
        };
        Self { store, session, outputs: Arc::new(outputs), directory }
    }

    /// Creates an ended execution with a stored output. The store reports its output as `output`.
    async fn ended(&self, output: OutputState) -> ExecutionId {
        let record = ExecutionRecord { session_id: self.session.id, output, ..testing::execution() };
        let id = record.id;
        let mut writer = self.outputs.writer(id).await.unwrap();
        write(&mut writer, Stdout, 10, &[], 10).await;
        writer.finish().await.unwrap();
        let new = NewExecution {
            record,
            peer: String::new(),
            approval: None,
            approval_valid_micros: 0,
            session: None,
            room: testing::ROOMY,
        };
        assert!(matches!(self.store.create_execution(new).await.unwrap(), Created::New(_)));
        id
    }

    async fn round(&self, keep: Duration) {
        let (outputs, store) = (self.outputs.clone(), self.store.clone());
        Retention { outputs, store, keep }.round().await.unwrap();
    }

    async fn output(&self, id: ExecutionId) -> OutputState {
        self.store.execution(id).await.unwrap().unwrap().output
    }
}

#[tokio::test]
async fn what_is_old_is_removed_and_said_to_be_lost() {
    let world = World::new().await;
    let mut old = Vec::new();
    // More than one query returns.
    for _ in 0..130 {
        old.push(world.ended(OutputState::Stored).await);
    }
    let unstored = world.ended(OutputState::Storing).await;
    world.round(Duration::from_secs(3600)).await;
    assert_eq!(world.output(old[0]).await, OutputState::Stored, "not old enough");

    tokio::time::sleep(Duration::from_millis(5)).await;
    world.round(Duration::ZERO).await;
    for id in old {
        assert_eq!(world.output(id).await, OutputState::Lost);
        is_missing(&world.outputs, id).await;
    }
    assert_eq!(world.output(unstored).await, OutputState::Storing);
    assert!(world.outputs.stored(unstored).await.unwrap().is_some());
}

#[tokio::test]
async fn what_cannot_be_removed_is_not_said_to_be_gone() {
    let world = World::new().await;
    let id = world.ended(OutputState::Stored).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let place = world.directory.path().join("outputs").join(id.to_string());
    let aside = world.directory.path().join("aside");
    std::fs::rename(&place, &aside).unwrap();
    // A file in place of the directory can be neither listed nor removed.
    std::fs::write(&place, "").unwrap();
    world.round(Duration::ZERO).await;
    assert_eq!(world.output(id).await, OutputState::Stored);
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(&aside, &place).unwrap();
    world.round(Duration::ZERO).await;
    assert_eq!(world.output(id).await, OutputState::Lost);
    is_missing(&world.outputs, id).await;
}
