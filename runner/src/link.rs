//! The links: the runner connects to each configured server, and reconnects for as long as it runs.
//!
//! Within the runner, only this module uses wire types. A lost link does not affect jobs: they continue, and the next
//! link reports everything again.

mod backoff;
mod control;
mod dial;
mod discover;
mod exchange;
mod output;
mod way;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{config::ServerConfig, core::Core};

use backoff::Backoff;

/// The reason why a link ended.
#[derive(Debug, thiserror::Error)]
enum LinkEnd {
    /// The runner stops.
    #[error("the runner stops")]
    Stopped,
    /// The server is reachable, and refuses this runner.
    #[error("the server refuses this runner: {0}")]
    Refused(String),
    /// The connection failed or broke.
    #[error("{0}")]
    Lost(String),
}

fn lost(what: impl std::fmt::Display) -> LinkEnd {
    LinkEnd::Lost(what.to_string())
}

/// Keeps the links to a configured server, or to each server that its name resolves to, until `cancel`. `index` is the
/// server's position in the configuration.
pub(crate) async fn keep_all(core: Arc<Core>, index: usize, server: ServerConfig, cancel: CancellationToken) {
    if server.discover {
        discover::all(core, index, server, cancel).await;
    } else {
        keep(core, index, server, || true, cancel).await;
    }
}

/// Keeps a link to one server until `cancel`, or until the link ends and `is_wanted` returns false.
async fn keep(
    core: Arc<Core>,
    index: usize,
    server: ServerConfig,
    is_wanted: impl Fn() -> bool,
    cancel: CancellationToken,
) {
    let mut backoff = Backoff::new(core.config.reconnect);
    let mut known: Option<String> = None;
    while is_wanted() {
        // Another address of the name leads to the same server. A server accepts one link per runner.
        let is_taken = server.discover
            && known.as_ref().is_some_and(|server_id| core.linked_servers.contains(server_id));
        let wait = if is_taken {
            core.config.reconnect.lookup
        } else {
            let mut welcomed = None;
            let end = control::hold(&core, index, &server, &cancel, &mut welcomed).await;
            if welcomed.is_some() {
                backoff.reset();
                known = welcomed;
            }
            let Some(wait) = wait_after(&end, &server.endpoint, &mut backoff) else { return };
            wait
        };
        if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
            return;
        }
    }
    tracing::info!(server = server.endpoint, "the server's name no longer resolves to this address");
}

/// Returns the delay before the next connection, or `None` if the runner stops.
fn wait_after(end: &LinkEnd, endpoint: &str, backoff: &mut Backoff) -> Option<Duration> {
    match end {
        LinkEnd::Stopped => None,
        LinkEnd::Refused(_) => {
            tracing::error!(server = endpoint, %end, "no link");
            Some(backoff.refused())
        }
        LinkEnd::Lost(_) => {
            tracing::warn!(server = endpoint, %end, "no link");
            Some(backoff.next())
        }
    }
}

/// The servers with an open link, by their server IDs.
#[derive(Debug, Default)]
pub(crate) struct LinkedServers(Mutex<Vec<String>>);

impl LinkedServers {
    fn contains(&self, server_id: &str) -> bool {
        self.lock().iter().any(|linked| linked == server_id)
    }

    fn enter(&self, server_id: &str) {
        self.lock().push(server_id.to_owned());
    }

    fn leave(&self, server_id: &str) {
        let mut linked = self.lock();
        if let Some(place) = linked.iter().position(|linked| linked == server_id) {
            linked.swap_remove(place);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
