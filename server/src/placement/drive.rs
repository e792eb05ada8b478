//! The task that processes the queues of sessions. Several sessions are processed concurrently, each by one
//! worker at a time.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tokio::task::JoinSet;

use crate::engine::Core;

/// Processes queues until the engine stops.
pub(crate) async fn drive_sessions(core: Arc<Core>) {
    let mut workers = JoinSet::new();
    let mut busy = HashSet::new();
    let mut by_task = HashMap::new();
    loop {
        let room = core.parts.limits.drives_at_once.saturating_sub(busy.len());
        for id in core.wake.take(room, &busy) {
            let worker = core.clone();
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
            () = core.wake.notified() => {}
        }
    }
}
