//! Lost connections, rolled-back transactions, and locks that are held for too long.

use super::{
    super::{tables::executions, testing::Database},
    *,
};
use crate::{
    AuditStore as _, Cas, Created,
    record::{ExecutionRecord, SessionRecord},
};

/// The statement limit of tests that exceed it.
const SHORT: Duration = Duration::from_secs(2);

/// Installs a trigger that executes `body` (PL/pgSQL) for each new execution. `tries` counts the
/// attempts, committed or not.
fn at_creation(database: &Database, when: &str, body: &str) {
    database.say("CREATE SEQUENCE tries");
    database.say(&format!(
        "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ \
         DECLARE try BIGINT := nextval('tries'); BEGIN {body} RETURN NULL; END $$"
    ));
    database.say(&format!(
        "CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON executions {when} \
         FOR EACH ROW EXECUTE FUNCTION fault()"
    ));
}

fn tries(database: &Database) -> String {
    database.say("SELECT last_value FROM tries")
}

async fn opened_with(options: &PostgresOptions) -> (Arc<PostgresStore>, SessionRecord) {
    let store = PostgresStore::open(options, Changes::default()).await.unwrap();
    let session = opened(&*store, TENANT).await;
    (store, session)
}

async fn create_in(store: &PostgresStore, session: &SessionRecord) -> Result<ExecutionRecord, StoreError> {
    match store.create_execution(new(execution(session))).await? {
        Created::New(record) => Ok(record),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_database_undoes_is_done_again() {
    let database = Database::make();
    let (store, session) = opened_with(&database.options()).await;
    let conflict = "IF try < 3 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF;";
    // The conflict occurs at the commit, and the database reports that it rolled back.
    at_creation(&database, "DEFERRABLE INITIALLY DEFERRED", conflict);
    let record = create_in(&store, &session).await.unwrap();
    assert_eq!(tries(&database), "3");
    assert_eq!(store.state_changes(record.id, 0).await.unwrap().len(), 1);
    assert_eq!(store.audit(0, 9).await.unwrap().len(), 1);
    store.close().await;
}

#[tokio::test]
async fn what_is_undone_again_and_again_is_unavailable() {
    let database = Database::make();
    let (store, session) = opened_with(&database.options()).await;
    at_creation(&database, "", "RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01';");
    let error = create_in(&store, &session).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(tries(&database), (AGAIN + 1).to_string());
    store.close().await;
}

#[tokio::test]
async fn a_connection_that_is_lost_before_the_commit_is_replaced() {
    let database = Database::make();
    let (store, session) = opened_with(&database.options()).await;
    at_creation(&database, "", "IF try = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;");
    let record = create_in(&store, &session).await.unwrap();
    assert_eq!(tries(&database), "2");
    database.say(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert_eq!(store.execution(record.id).await.unwrap(), Some(record));
    assert_eq!(store.renew_leases("server-1", 1).await.unwrap(), 1);
    store.close().await;
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_said_and_not_taken_again() {
    let database = Database::make();
    let (store, session) = opened_with(&database.options()).await;
    let cut = "PERFORM pg_terminate_backend(pg_backend_pid());";
    at_creation(&database, "DEFERRABLE INITIALLY DEFERRED", cut);
    let error = create_in(&store, &session).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(tries(&database), "1");
    store.close().await;
}

#[tokio::test]
async fn a_lock_is_waited_for_so_long_and_no_longer() {
    let database = Database::make();
    let options = PostgresOptions { lock_timeout: Duration::from_millis(200), ..database.options() };
    let (store, session) = opened_with(&options).await;
    let record = create_in(&store, &session).await.unwrap();
    let mut held = store.begin().await.unwrap();
    executions::get_to_change(&mut held, record.id).await.unwrap();
    let cancel = Transition { cancel_requested: Some(true), ..Transition::default() };
    let error = store.transition(record.id, 1, &cancel).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(store.execution(record.id).await.unwrap(), Some(record.clone()), "readers do not wait");
    held.rollback().await.unwrap();
    assert!(matches!(store.transition(record.id, 1, &cancel).await.unwrap(), Cas::Done(_)));
    store.close().await;
}

#[tokio::test]
async fn a_statement_takes_so_long_and_no_longer() {
    let database = Database::make();
    // Another server applies the migrations, without the short limit.
    let (other, session) = opened_with(&database.options()).await;
    other.close().await;
    at_creation(&database, "", "PERFORM pg_sleep(600);");
    let options = PostgresOptions { statement_timeout: SHORT, ..database.options() };
    let store = PostgresStore::open(&options, Changes::default()).await.unwrap();
    let error = create_in(&store, &session).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(store.audit(0, 9).await.unwrap(), vec![]);
    store.close().await;
}

#[tokio::test]
async fn a_server_that_stands_still_in_a_transaction_holds_no_lock_for_long() {
    let database = Database::make();
    let (other, session) = opened_with(&database.options()).await;
    let record = create_in(&other, &session).await.unwrap();
    let options = PostgresOptions { statement_timeout: SHORT, ..database.options() };
    let still = PostgresStore::open(&options, Changes::default()).await.unwrap();
    let mut held = still.begin().await.unwrap();
    executions::get_to_change(&mut held, record.id).await.unwrap();
    let cancel = Transition { cancel_requested: Some(true), ..Transition::default() };
    assert!(matches!(other.transition(record.id, 1, &cancel).await.unwrap(), Cas::Done(_)));
    drop(held);
    other.close().await;
    still.close().await;
}

#[tokio::test]
async fn a_busy_store_is_unavailable_after_a_while() {
    let database = Database::make();
    let options = PostgresOptions { connections: 1, ..database.options() };
    let (store, _) = opened_with(&options).await;
    let held = store.begin().await.unwrap();
    // Only the clock can end the wait, and tokio advances a paused clock when it is idle.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let error = store.renew_leases("server", 1).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(begun.elapsed() >= options.connect_timeout, "{:?}", begun.elapsed());
    tokio::time::resume();
    drop(held);
    store.renew_leases("server", 1).await.unwrap();
    store.close().await;
}
