//! The contract on SQLite, and tests of specific parts: files, locks, schema, a killed process.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use super::*;
use crate::{
    AuditStore as _, Durability, ExecutionStore as _, MilestoneQuery, SessionStore as _,
    contract::{
        contract_tests,
        fixtures::{MANY, TENANT, create, denied, execution, new, opened, session},
    },
    testing,
};

struct Fresh {
    store: Arc<SqliteStore>,
    folder: TempDir,
}

impl Fresh {
    fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the same store, because a file supports only one server.
    fn other(&self) -> &dyn Store {
        &*self.store
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("airlock.db")
    }
}

async fn fresh() -> Fresh {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("airlock.db")).await.unwrap();
    Fresh { store, folder }
}

async fn open(path: &Path) -> Result<Arc<SqliteStore>, StoreError> {
    SqliteStore::open(path, testing::sqlite()).await
}

contract_tests!(fresh);

/// Changes a store's file without the store.
async fn tamper(path: &Path, sql: &'static str) -> Result<(), sqlx::Error> {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await?;
    sqlx::raw_sql(sql).execute(&mut connection).await?;
    connection.close().await
}

#[tokio::test]
async fn a_store_that_is_opened_again_has_everything() {
    let Fresh { store, folder } = fresh().await;
    let path = folder.path().join("airlock.db");
    let session = opened(&*store, TENANT).await;
    let record = create(&*store, new(execution(&session))).await;
    store.close().await;
    drop(store);
    for durability in [Durability::Disk, Durability::Process] {
        let options = SqliteOptions { durability, ..testing::sqlite() };
        let store = SqliteStore::open(&path, options).await.unwrap();
        assert_eq!(store.execution(record.id).await.unwrap(), Some(record.clone()));
        assert_eq!(store.session(session.id).await.unwrap().unwrap().id, session.id);
        store.close().await;
    }
}

#[tokio::test]
async fn durability_sets_what_sqlite_waits_for() {
    for (durability, wanted) in [(Durability::Process, 1), (Durability::Disk, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions { durability, ..testing::sqlite() };
        let store = SqliteStore::open(&folder.path().join("airlock.db"), options).await.unwrap();
        let ask = async |sql: &'static str| -> i64 {
            sqlx::query_scalar(sql).fetch_one(&store.write).await.unwrap()
        };
        assert_eq!(ask("PRAGMA synchronous").await, wanted);
        assert_eq!(ask("PRAGMA foreign_keys").await, 1);
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&store.write).await.unwrap();
        assert_eq!(mode, "wal");
        store.close().await;
    }
}

#[tokio::test]
async fn a_store_is_its_owners_alone_and_open_once() {
    let fresh = fresh().await;
    opened(fresh.store(), TENANT).await;
    for entry in std::fs::read_dir(fresh.folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.path());
    }
    let second = open(&fresh.path()).await.unwrap_err();
    assert!(matches!(&second, StoreError::Unavailable(why) if why.contains("locked")), "{second}");
}

#[tokio::test]
async fn readers_cannot_write() {
    let fresh = fresh().await;
    sqlx::query("DELETE FROM sessions").execute(&fresh.store.read).await.unwrap_err();
}

#[tokio::test]
async fn the_audit_can_only_be_added_to() {
    let fresh = fresh().await;
    let session = opened(fresh.store(), TENANT).await;
    create(fresh.store(), new(execution(&session))).await;
    for sql in ["UPDATE audit_opened SET command = x'00'", "DELETE FROM audit_opened"] {
        let error = StoreError::from(sqlx::query(sql).execute(&fresh.store.write).await.unwrap_err());
        assert!(error.to_string().contains("append-only"), "{error}");
    }
}

#[tokio::test]
async fn a_later_schema_is_refused() {
    let fresh = fresh().await;
    let path = fresh.path();
    fresh.store.close().await;
    tamper(
        &path,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', TRUE, x'00', 0)",
    )
    .await
    .unwrap();
    let Fresh { store, folder } = fresh;
    drop(store);
    let error = open(&folder.path().join("airlock.db")).await.unwrap_err();
    let StoreError::Newer { found: 9999, known } = error else { panic!("{error:?}") };
    assert!((4..9999).contains(&known));
    assert_eq!(
        error.to_string(),
        format!(
            "the store has schema 9999, but this version of Airlock supports {known} at most; use a newer version"
        )
    );
}

#[tokio::test]
async fn what_is_no_store_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("airlock.db");
    std::fs::write(&path, "this is no database, and long enough to be read as one".repeat(100)).unwrap();
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    let error = open(&folder.path().join("missing/airlock.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn damaged_pages_are_corrupt_and_not_empty() {
    let Fresh { store, folder } = fresh().await;
    let path = folder.path().join("airlock.db");
    let session = opened(&*store, TENANT).await;
    let record = create(&*store, new(execution(&session))).await;
    store.close().await;
    drop(store);
    let mut file = std::fs::read(&path).unwrap();
    let schema_page = 4096;
    file.iter_mut().skip(schema_page).for_each(|byte| *byte = 0xa5);
    std::fs::write(&path, file).unwrap();
    let error = match open(&path).await {
        Err(error) => error,
        Ok(store) => store.execution(record.id).await.unwrap_err(),
    };
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_loses_nothing() {
    let fresh = fresh().await;
    let session = opened(fresh.store(), TENANT).await;
    let large = || {
        let mut record = execution(&session);
        record.spec.command.text = vec![b'x'; 100_000];
        new(record)
    };
    let before = create(fresh.store(), large()).await;
    let limit = async |sql| {
        sqlx::raw_sql(sql).execute(&fresh.store.write).await.unwrap();
    };
    limit("PRAGMA max_page_count = 1").await;
    let error = fresh.store().create_execution(large()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(fresh.store().execution(before.id).await.unwrap(), Some(before));
    assert_eq!(fresh.store().audit(0, 10).await.unwrap().len(), 1);
    limit("PRAGMA max_page_count = 1000000").await;
    create(fresh.store(), large()).await;
}

#[tokio::test]
async fn milestones_that_were_pruned_are_said_to_be_and_their_numbers_never_come_again() {
    let fresh = fresh().await;
    let query = MilestoneQuery { tenant: TENANT.to_owned(), session_id: None };
    let session = opened(fresh.store(), TENANT).await;
    for _ in 0..3 {
        create(fresh.store(), denied(&session)).await;
    }
    let prune = async |sql| {
        sqlx::raw_sql(sql).execute(&fresh.store.write).await.unwrap();
    };
    prune("DELETE FROM milestones WHERE sequence < 3").await;
    let left = fresh.store().milestones(&query, 0, 10).await.unwrap();
    assert_eq!((left.oldest, left.latest, left.found.len()), (3, 3, 1));
    prune("DELETE FROM milestones").await;
    let left = fresh.store().milestones(&query, 0, 10).await.unwrap();
    assert_eq!((left.oldest, left.latest, left.found.len()), (4, 3, 0));
    create(fresh.store(), denied(&session)).await;
    assert_eq!(fresh.store().milestones(&query, 3, 10).await.unwrap().found[0].sequence, 4);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_corrupt_and_named_by_column_only() {
    let fresh = fresh().await;
    let secret = session(TENANT);
    fresh.store.create_session(secret.clone(), MANY).await.unwrap();
    for sql in [
        "UPDATE sessions SET state = 'secret'",
        "UPDATE sessions SET state = 'OPEN', env = '{\"A\": secret'",
        "UPDATE sessions SET env = '{}', runner_id = 'secret secret'",
    ] {
        sqlx::raw_sql(sql).execute(&fresh.store.write).await.unwrap();
        let error = fresh.store.session(secret.id).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_busy_store_is_unavailable_after_a_while() {
    let Fresh { store, folder: _folder } = fresh().await;
    let held = store.begin().await.unwrap();
    // Only the clock can end the wait, and tokio advances a paused clock when it is idle.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let error = store.renew_leases("server", 1).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(begun.elapsed() >= testing::sqlite().acquire_timeout, "{:?}", begun.elapsed());
    tokio::time::resume();
    drop(held);
    store.renew_leases("server", 1).await.unwrap();
}

#[tokio::test]
async fn what_is_asked_often_uses_an_index_of_what_lives() {
    let fresh = fresh().await;
    for (sql, index) in [
        (
            "SELECT * FROM executions WHERE session_id = 'x' AND state IN ('QUEUED') AND ended IS NULL \
          ORDER BY id DESC",
            "live_by_session",
        ),
        (
            "SELECT * FROM executions WHERE runner_id = 'x' AND state IN ('STARTING', 'RUNNING') AND ended IS NULL \
          ORDER BY id DESC",
            "live_by_runner",
        ),
        (
            "SELECT * FROM executions WHERE state IN ('QUEUED') AND ended IS NULL ORDER BY id DESC",
            "live_by_id",
        ),
        (
            "SELECT * FROM executions WHERE ended IS NOT NULL AND output IN ('LIVE', 'STORING') AND id < 'x' \
          ORDER BY id DESC",
            "unstored_by_id",
        ),
        ("SELECT count(*) FROM executions WHERE tenant = 'x' AND ended IS NULL", "live_by_tenant"),
        (
            "SELECT id FROM executions WHERE output IN ('STORED', 'PARTIAL') AND ended < 1 ORDER BY ended LIMIT 1",
            "stored_by_end",
        ),
        ("UPDATE executions SET lease_until = 1 WHERE owner_server = 'x' AND ended IS NULL", "live_by_owner"),
        ("SELECT * FROM executions WHERE tenant = 'x' ORDER BY id DESC", "executions_by_tenant"),
        (
            "SELECT * FROM sessions WHERE state = 'OPEN' AND last_used + idle_timeout <= 1 \
          ORDER BY last_used + idle_timeout",
            "sessions_idle",
        ),
        (
            "SELECT state, count(*) FROM sessions WHERE state IN ('OPENING', 'OPEN', 'CLOSING') GROUP BY state",
            "sessions_live",
        ),
        (
            "SELECT * FROM milestones WHERE tenant = 'x' AND sequence > 1 ORDER BY sequence",
            "milestones_by_tenant",
        ),
        ("SELECT * FROM approvals WHERE state = 'OPEN' AND expires <= 1 ORDER BY expires", "approvals_open"),
        (
            "SELECT execution_id FROM hook_deliveries WHERE hook = 'x' AND tenant = 'x' AND due <= 1 \
             ORDER BY due, execution_id LIMIT 8",
            "hook_deliveries_by_due",
        ),
        ("SELECT min(created) FROM hook_deliveries WHERE hook = 'x'", "hook_deliveries_by_hook"),
        (
            "SELECT * FROM hook_deliveries WHERE created < 1 AND (holder IS NULL OR due <= 1) \
             ORDER BY created, execution_id, hook LIMIT 100",
            "hook_deliveries_by_age",
        ),
    ] {
        let plan: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
                .fetch_all(&fresh.store.write)
                .await
                .unwrap();
        let plan: Vec<_> = plan.into_iter().map(|step| step.3).collect();
        assert!(plan[0].contains(index) && plan.len() == 1, "{sql}: {plan:?}");
    }
}

const CHILD: &str = "AIRLOCK_TEST_STORE";

/// The process that a test kills. It prints the ID of each execution after the commit. If it runs
/// as a test on its own, it writes a few executions and ends.
#[tokio::test]
async fn killed_writer() {
    let alone = tempfile::tempdir().unwrap();
    let (path, rounds) = match std::env::var_os(CHILD) {
        Some(path) => (PathBuf::from(path), usize::MAX),
        None => (alone.path().join("airlock.db"), 5),
    };
    let store = open(&path).await.unwrap();
    let session = opened(&*store, TENANT).await;
    for _ in 0..rounds {
        let record = create(&*store, new(execution(&session))).await;
        println!("committed {}", record.id);
        assert!(store.execution(record.id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("airlock.db");
    let mut committed = Vec::new();
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::tests::killed_writer", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ids =
            lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("committed ")?.to_owned()));
        committed.extend(ids.take(40 * round));
        child.kill().unwrap();
        child.wait().unwrap();

        let store = open(&path).await.unwrap();
        for id in &committed {
            let id = id.parse().unwrap();
            assert!(store.execution(id).await.unwrap().is_some());
            assert_eq!(store.state_changes(id, 0).await.unwrap().len(), 1);
        }
        let mut entries = 0;
        let mut last = 0;
        loop {
            let some = store.audit(last, 1_000).await.unwrap();
            let Some(entry) = some.last() else { break };
            last = entry.sequence;
            entries += some.len();
        }
        assert!(entries >= committed.len());
        let verdict: String =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&store.write).await.unwrap();
        assert_eq!(verdict, "ok");
        store.close().await;
    }
    assert_eq!(committed.len(), 240);
}
