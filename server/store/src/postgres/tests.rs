//! The contract on a real PostgreSQL, with and without hints. Also tests of specific parts: schema, TLS, locks, lost
//! connections.

mod faults;
mod reach;

use std::time::Duration;

use airlock_domain::OutputState;

use super::{testing::Pair, *};
use crate::{
    ExecutionStore as _, OutputBy, Transition,
    contract::{
        contract_tests,
        fixtures::{HOUR, TENANT, create, execution, finished, new, opened, put_output},
    },
    testing::PATIENCE,
};

mod with_hints {
    use super::*;

    async fn fresh() -> Pair {
        Pair::open(true).await
    }

    contract_tests!(fresh);
}

mod without_hints {
    use super::*;

    async fn fresh() -> Pair {
        Pair::open(false).await
    }

    contract_tests!(fresh);
}

#[tokio::test]
async fn what_another_server_does_rings_here() {
    let pair = Pair::open(true).await;
    let session = opened(pair.store(), TENANT).await;
    let record = create(pair.store(), new(execution(&session))).await;
    let stored = finished(pair.store(), &session).await;
    put_output(pair.store(), &stored, OutputState::Live).await;
    assert!(pair.store().take_storing(stored.id, "one", HOUR).await.unwrap());
    let mut bell = pair.changes.watch(stored.id);
    let mut tenant = pair.changes.watch_tenant(TENANT);
    // A hint that was sent before the listener was ready is lost, so repeat the change.
    let rings = async {
        loop {
            let by = OutputBy::Keeper("one");
            assert!(pair.store().set_output(stored.id, OutputState::Storing, by).await.unwrap());
            let transition = Transition { cancel_requested: Some(true), ..Transition::default() };
            pair.store().transition(record.id, record.version, &transition).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let heard = async {
        bell.changed().await;
        tenant.changed().await;
    };
    tokio::select! {
        () = heard => {}
        () = rings => {}
        () = tokio::time::sleep(PATIENCE) => panic!("no hint arrived"),
    }
    pair.one.close().await;
    pair.other.close().await;
}

#[tokio::test]
async fn hints_come_again_after_their_connection_was_lost() {
    let pair = Pair::open(true).await;
    let session = opened(pair.store(), TENANT).await;
    let record = create(pair.store(), new(execution(&session))).await;
    let ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    pair.database.say(ends);
    let mut bell = pair.changes.watch(record.id);
    let rings = async {
        loop {
            let transition = Transition { cancel_requested: Some(true), ..Transition::default() };
            pair.store().transition(record.id, record.version, &transition).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = bell.changed() => {}
        () = rings => {}
        () = tokio::time::sleep(PATIENCE) => panic!("no hint arrived"),
    }
    pair.one.close().await;
    pair.other.close().await;
}

#[tokio::test]
async fn without_hints_nobody_listens() {
    let pair = Pair::open(false).await;
    opened(pair.store(), TENANT).await;
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'
        AND datname = current_database()";
    assert_eq!(pair.database.say(listening), "0");
    pair.one.close().await;
    pair.other.close().await;
}

#[tokio::test]
async fn a_store_that_is_opened_again_has_everything() {
    let pair = Pair::open(false).await;
    let session = opened(pair.store(), TENANT).await;
    let record = create(pair.store(), new(execution(&session))).await;
    pair.one.close().await;
    pair.other.close().await;
    let again = PostgresStore::open(&pair.database.options(), Changes::default()).await.unwrap();
    assert_eq!(again.execution(record.id).await.unwrap(), Some(record));
    again.close().await;
}

#[tokio::test]
async fn the_audit_can_only_be_added_to() {
    let pair = Pair::open(false).await;
    let session = opened(pair.store(), TENANT).await;
    create(pair.store(), new(execution(&session))).await;
    for sql in ["UPDATE audit_opened SET command = ''", "DELETE FROM audit_opened", "TRUNCATE audit_closed"] {
        let error = StoreError::from(sqlx::query(sql).execute(&pair.one.pool).await.unwrap_err());
        assert!(matches!(&error, StoreError::Refused(why) if why.contains("append-only")), "{error}");
    }
}

/// Inserts enough executions for realistic query plans, without their sessions.
const MANY_EXECUTIONS: &str = "SET session_replication_role = replica;
    INSERT INTO executions (id, version, session_id, tenant, principal, request_hash, state, runner_id, attempt,
        owner_server, lease_until, cancel_requested, output, output_from, traceparent, created, queued, ended, labels,
        directory, decision, serial, spec, command)
    SELECT 'id' || n, 1, 'session' || n % 97, 'tenant' || n % 7, '', '',
        CASE WHEN n % 50 = 0 THEN 'QUEUED' ELSE 'FINISHED' END, 'runner' || n % 11, 0, 'server' || n % 3, 0, FALSE,
        CASE WHEN n % 40 = 1 THEN 'LIVE' ELSE 'STORED' END, 0, '', n, n, CASE WHEN n % 50 = 0 THEN NULL ELSE n END,
        '{}', '', '', FALSE, '', '' FROM generate_series(1, 5000) AS n;
    ANALYZE executions";

#[tokio::test]
async fn what_is_asked_often_uses_an_index_of_what_lives() {
    let pair = Pair::open(false).await;
    pair.database.say(MANY_EXECUTIONS);
    for (sql, index) in [
        (
            "SELECT * FROM executions WHERE session_id = 'session1' AND ended IS NULL ORDER BY id",
            "live_by_session",
        ),
        (
            "SELECT * FROM executions WHERE runner_id = 'runner1' AND ended IS NULL ORDER BY id DESC",
            "live_by_runner",
        ),
        ("SELECT count(*) FROM executions WHERE state = 'QUEUED'", "queued_by_id"),
        (
            "SELECT * FROM executions WHERE ended IS NOT NULL AND output IN ('LIVE', 'STORING') ORDER BY id DESC",
            "unstored_by_id",
        ),
        ("SELECT count(*) FROM executions WHERE tenant = 'tenant1' AND ended IS NULL", "live_by_tenant"),
        (
            "SELECT id FROM executions WHERE output IN ('STORED', 'PARTIAL') AND ended < 1 ORDER BY ended LIMIT 1",
            "stored_by_end",
        ),
        (
            "UPDATE executions SET lease_until = 1 WHERE owner_server = 'server1' AND ended IS NULL",
            "live_by_owner",
        ),
        (
            "SELECT * FROM sessions WHERE state = 'OPEN' AND last_used + idle_timeout <= \
             (extract(epoch FROM statement_timestamp()) * 1000000)::bigint ORDER BY last_used + idle_timeout",
            "sessions_idle",
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
        // With so few rows the planner could choose a plan without the index, so disable other plans.
        let plan = pair
            .database
            .say(&format!("SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN {sql}"));
        assert!(plan.contains(index) && !plan.contains("Sort"), "{sql}: {plan}");
    }
}
