//! Tests of many concurrent executions: each runs exactly once, and the number of slots is never
//! exceeded.

use std::sync::Arc;

use airlock_domain::{Cause, ExecutionState};
use airlock_store::{
    PageQuery, SessionQuery,
    testing::{PATIENCE, until},
};

use super::support::{Auto, World, alone, run, who};
use crate::api::{CreateSession, StartExecution};

const WORKERS: usize = 16;
const EACH: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_at_a_time_each_runs_once() {
    let world = Arc::new(World::new().await);
    let runner = Auto::connect(&world, "r").await;
    let session = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let (world, session) = (world.clone(), session.id);
        workers.spawn(async move {
            let mut ids = Vec::new();
            for turn in 0..EACH {
                let key = Some(format!("{worker}-{turn}"));
                // Alternate: serial in the shared session, concurrent in it, and in a new session.
                let request = match turn % 3 {
                    0 => run(session, "touch a"),
                    1 => run(session, "ls"),
                    _ => alone("touch b"),
                };
                let request = StartExecution { request_id: key, ..request };
                let (first, twin) = tokio::join!(
                    world.services.executions.start(who("ann"), request.clone()),
                    world.services.executions.start(who("ann"), request),
                );
                let (first, twin) = (first.unwrap(), twin.unwrap());
                assert_eq!(first.id, twin.id, "one key, one execution");
                let done = world.services.executions.wait(who("ann"), first.id, PATIENCE).await.unwrap();
                assert_eq!(done.state, ExecutionState::Finished, "{done:?}");
                assert_eq!(done.result.unwrap().cause, Cause::Exited { code: 0 });
                ids.push(first.id);
            }
            ids
        });
    }
    let ids: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    {
        let ran = runner.ran.lock().unwrap();
        assert_eq!(ran.len(), ids.len());
        assert!(ids.iter().all(|id| ran[id] == 1), "each once");
        assert!(*runner.most.lock().unwrap() <= 4, "within its slots");
    }
    assert_eq!(world.store.live_executions(None, None, 1).await.unwrap(), []);
    let page = PageQuery { size: 1000, token: None };
    // The single-use sessions are removed as well. The shared session stays.
    until("no temporary session is left", async || {
        world.store.sessions(&SessionQuery::default(), &page).await.unwrap().items.len() == 1
    })
    .await;
    world.services.shut_down().await;
}
