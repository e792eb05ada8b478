//! The task that processes the queues of sessions. Several sessions are processed concurrently, each by one
//! worker at a time.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tokio::task::JoinSet;

use super::Placement;

/// Processes queues until the task is dropped.
pub(crate) async fn drive_sessions(placement: Arc<Placement>) {
    let mut workers = JoinSet::new();
    let mut busy = HashSet::new();
    let mut by_task = HashMap::new();
    loop {
        let room = placement.limits.drives_at_once.saturating_sub(busy.len());
        for id in placement.hints.sessions.take(room, &busy) {
            let worker = placement.clone();
            let task = workers.spawn(async move {
                if let Err(error) = worker.drive(id).await {
                    // The reconcile loop schedules every session with a queue again.
                    tracing::warn!(session_id = %id, %error, "cannot process the queue of a session; retrying");
                }
            });
            busy.insert(id);
            by_task.insert(task.id(), id);
        }
        tokio::select! {
            Some(done) = workers.join_next_with_id() => {
                let task = match done {
                    Ok((task, ())) => task,
                    Err(error) => {
                        tracing::error!(%error, "a queue worker failed");
                        error.id()
                    }
                };
                if let Some(id) = by_task.remove(&task) {
                    busy.remove(&id);
                }
            }
            () = placement.hints.sessions.notified() => {}
        }
    }
}
