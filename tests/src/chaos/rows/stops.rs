//! The server or the runner stops (SIGTERM), with executions in every state.

use std::time::Duration;

use airlock_client::{From, v1};
use bytes::Bytes;
use sqlx::Connection as _;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::{
    clients::{impatient, view},
    row::Row,
};
use crate::chaos::{
    actor::{GATE, Part, Permits, eventually, lines},
    actors::Actors,
    ledger::Ledger,
    plan::Plan,
    scene::{Scene, Setting, Side},
};

/// The state of the executions at the time of the signal.
const WHEN: [&str; 4] = ["at once", "a moment later", "as they end", "as they ended"];

async fn pass(scene: &Scene, when: &str) {
    match when {
        "at once" => {}
        "as they end" => scene.open_gate(GATE),
        "as they ended" => {
            scene.open_gate(GATE);
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        _ => tokio::time::sleep(Duration::from_millis(400)).await,
    }
}

pub(super) async fn runner(plan: &Plan) {
    let drain = "[drain]\ngrace = \"2s\"\nhandover = \"10s\"\n".to_owned();
    let scene = Scene::new(Setting { runner: drain, ..Setting::default() }).await;
    for (index, when) in plan.choose(&WHEN) {
        let key = Row::RunnerStops.note(plan, index, &when);
        let mut actors = Actors::enter(&scene, &key).await;
        let approval = actors.open_approval(&scene).await;
        pass(&scene, when).await;
        let (said, ()) = tokio::join!(scene.stop(Side::Runner), refuses(&scene, &actors, &key));
        let cut = actors.ended_by_drain(&scene).await;
        let told =
            said.lines().rev().find_map(|line| line.split_once(" commands were ended")).map(|found| found.0);
        let told: usize = told.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default();
        assert_eq!(told, cut, "it says how many were cut:\n{said}");
        scene.start(Side::Runner, &[]);
        scene.ready().await;
        assert_eq!(
            actors.open_approval(&scene).await.approval_id,
            approval.approval_id,
            "the state is unchanged"
        );
        actors.stop(&scene, Permits { drained: true, ..Permits::default() }).await;
    }
    scene.end().await;
}

/// Checks that no new work is accepted during a drain.
async fn refuses(scene: &Scene, actors: &Actors, key: &str) {
    let draining = v1::RunnerState::Draining;
    eventually("it is said to drain", async || {
        let page = scene.client.admin().runners(v1::AdminServiceListRunnersRequest::default()).await.ok()?;
        page.runners.iter().any(|runner| runner.state() == draining).then_some(())
    })
    .await;
    let part = Part::new("refused", "exit 7", lines(1, 0));
    let error = impatient(scene).start(part.spec(&actors.session, key)).await.unwrap_err();
    assert_eq!(error.rejection().map(|no| no.reason.as_str()), Some("RUNNER_DRAINING"), "{error:?}");
}

pub(super) async fn server(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    for (index, when) in plan.choose(&WHEN) {
        let key = Row::ServerStops.note(plan, index, &when);
        let mut actors = Actors::enter(&scene, &key).await;
        let approval = actors.open_approval(&scene).await;
        let id = approval.execution_id.clone();
        let mut view = view(&scene, &id).await;
        let (mut ledger, mut cursor) = (Ledger::default(), Bytes::new());
        pass(&scene, when).await;

        let stopped = scene.stop(Side::Server);
        let end = async {
            loop {
                match view.message().await {
                    Ok(Some(answer)) => {
                        let event = answer.event.expect("an answer has an event");
                        cursor = event.cursor.clone();
                        ledger.take(event);
                    }
                    Ok(None) => panic!("a view ended without a status"),
                    Err(status) => break status,
                }
            }
        };
        let (status, _) = tokio::join!(end, stopped);
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        let details = status.get_error_details();
        let reason = details.error_info().map(|info| info.reason.as_str());
        assert_eq!((reason, details.retry_info().is_some()), (Some("SHUTTING_DOWN"), true), "{status:?}");
        leases_are_handed_over(&scene).await;

        scene.start(Side::Server, &[]);
        scene.ready().await;
        assert_eq!(
            actors.open_approval(&scene).await.approval_id,
            approval.approval_id,
            "the state is unchanged"
        );
        let follow_on = async {
            let mut view = scene.client.attach(id, From::Cursor(cursor));
            while let Some(event) = view.next().await.unwrap() {
                ledger.take(event);
            }
        };
        tokio::join!(follow_on, actors.dismiss(&scene));
        assert!(ledger.end.is_some(), "the view continued to the end");
        actors.check(&scene, Permits::default()).await;
    }
    scene.end().await;
}

/// Checks that no lease of the stopped server remains.
async fn leases_are_handed_over(scene: &Scene) {
    let mut store = scene.store().await;
    let query = "SELECT count(*) FROM executions WHERE state <> 'FINISHED' \
        AND owner_server IS NOT NULL AND lease_until > CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
    let held: i64 = sqlx::query_scalar(query).fetch_one(&mut store).await.unwrap();
    drop(store.close().await);
    assert_eq!(held, 0, "leases are handed over");
}
