//! Hints between servers by LISTEN and NOTIFY that an execution has changed. They carry IDs only. A lost
//! hint delays a waiting client by at most one second, because every server also polls once per second.
//!
//! Hints are sent after the commit on a separate connection. A NOTIFY inside a transaction would serialize
//! all commits of the database.

use std::{collections::BTreeSet, time::Duration};

use airlock_domain::ExecutionId;
use sqlx::{PgPool, postgres::PgListener};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{StoreError, changes::Changes};

const CHANNEL: &str = "airlock";
/// The maximum number of hints that wait to be sent. Further hints are dropped.
const WAITING: usize = 1024;
/// The maximum number of hints per statement.
const AT_ONCE: usize = 128;
/// The maximum time that the database may take to answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// The time of silence after which the connection is checked.
const QUIET: Duration = Duration::from_secs(15);
/// The pause between two attempts to connect.
const PAUSE: Duration = Duration::from_secs(1);

/// The sender of hints, and the task that sends and receives them.
#[derive(Debug)]
pub(super) struct Hints {
    send: mpsc::Sender<String>,
    /// The random ID of this sender, which lets it ignore its own hints.
    origin: String,
    stop: CancellationToken,
    tasks: TaskTracker,
}

struct Worker {
    pool: PgPool,
    origin: String,
    waiting: mpsc::Receiver<String>,
    changes: Changes,
    stop: CancellationToken,
}

impl Hints {
    /// Starts to listen. `pool` must have one connection and no other user.
    pub(super) fn start(pool: PgPool, changes: Changes) -> Self {
        let (send, waiting) = mpsc::channel(WAITING);
        let (origin, stop) = (Uuid::new_v4().simple().to_string(), CancellationToken::new());
        let worker = Worker { pool, origin: origin.clone(), waiting, changes, stop: stop.clone() };
        let tasks = TaskTracker::new();
        tasks.spawn(worker.run());
        tasks.close();
        Self { send, origin, stop, tasks }
    }

    /// Sends a hint to the other servers that an execution has changed. Does not wait.
    pub(super) fn send(&self, id: ExecutionId, tenant: &str) {
        // If the queue is full or closed, the other servers see the change with their next poll.
        let _ = self.send.try_send(format!("{} {id} {tenant}", self.origin));
    }

    /// Stops the task and waits for it.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Worker {
    async fn run(mut self) {
        let stop = self.stop.clone();
        let mut is_told = false;
        while !stop.is_cancelled() {
            match stop.run_until_cancelled(self.listen(&mut is_told)).await {
                Some(Err(error)) if !is_told => {
                    tracing::warn!(%error, "no hints from other servers; their changes are seen up to a second later");
                    is_told = true;
                }
                _ => {}
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
        let _ = timeout(ANSWER_WAIT, self.pool.close()).await;
    }

    /// Receives and sends hints until the connection is lost.
    async fn listen(&mut self, is_told: &mut bool) -> Result<(), StoreError> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        *is_told = false;
        loop {
            tokio::select! {
                heard = listener.try_recv() => match heard? {
                    Some(hint) => self.ring(hint.payload()),
                    None => return Err(StoreError::Undone("the connection was lost".to_owned())),
                },
                Some(first) = self.waiting.recv() => {
                    let batch = self.batch(first);
                    answered(notify(&mut listener, &batch)).await?;
                }
                () = tokio::time::sleep(QUIET) => {
                    answered(notify(&mut listener, &[])).await?;
                }
            }
        }
    }

    fn batch(&mut self, first: String) -> Vec<String> {
        let mut batch = BTreeSet::from([first]);
        while batch.len() < AT_ONCE
            && let Ok(next) = self.waiting.try_recv()
        {
            batch.insert(next);
        }
        batch.into_iter().collect()
    }

    fn ring(&self, hint: &str) {
        let mut parts = hint.splitn(3, ' ');
        if let (Some(origin), Some(id), Some(tenant)) = (parts.next(), parts.next(), parts.next())
            && origin != self.origin
            && let Ok(id) = id.parse()
        {
            self.changes.notify(id);
            self.changes.notify_tenant(tenant);
        }
    }
}

async fn notify(listener: &mut PgListener, hints: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_notify($1, hint) FROM unnest($2::text[]) AS hint")
        .bind(CHANNEL)
        .bind(hints)
        .execute(listener)
        .await
        .map(drop)
}

async fn answered(call: impl Future<Output = Result<(), sqlx::Error>>) -> Result<(), StoreError> {
    match timeout(ANSWER_WAIT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(StoreError::Undone("no answer in time".to_owned())),
    }
}
