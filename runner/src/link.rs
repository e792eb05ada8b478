//! The links: each configured server is dialled, and dialled again, for as long as the runner lives.
//!
//! Wire types live here and nowhere else in the runner. A link that is lost costs nothing but itself:
//! jobs go on, and everything is reported again on the next one.

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

/// Why a link ended.
#[derive(Debug, thiserror::Error)]
enum LinkEnd {
    /// The runner stops.
    #[error("the runner stops")]
    Stopped,
    /// The server is there, and will not have this runner as it is.
    #[error("the server refuses this runner: {0}")]
    Refused(String),
    /// It could not be made, or broke.
    #[error("{0}")]
    Lost(String),
}

fn lost(what: impl std::fmt::Display) -> LinkEnd {
    LinkEnd::Lost(what.to_string())
}

/// Keeps the links to a configured server, or to each of those behind its name, until `cancel`. `index` is its place in
/// the configuration.
pub(crate) async fn keep_all(core: Arc<Core>, index: usize, server: ServerConfig, cancel: CancellationToken) {
    if server.discover {
        discover::all(core, index, server, cancel).await;
    } else {
        keep(core, index, server, || true, cancel).await;
    }
}

/// Keeps a link to one server until `cancel`, or until it ends and is no longer wanted.
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
        // Another address of the name leads to the same server, which has one link of a runner.
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
    tracing::info!(server = server.endpoint, "its name does not lead there any more");
}

/// How long to wait after a link that ended so; not at all when the runner stops.
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

/// The servers that there is a link to, by the names that they give themselves.
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
