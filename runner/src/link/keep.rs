//! Keeps the link to one server: connects, waits, and connects again.

use std::{sync::Arc, time::Duration};

use airlock_backoff::{Backoff, jittered};
use tokio_util::sync::CancellationToken;

use super::{control, end::LinkEnd};
use crate::{config::ServerConfig, services::Services};

/// Keeps a link to one server until `cancel`, or until the link ends and `is_wanted` returns false.
pub(super) async fn keep(
    services: Arc<Services>,
    index: usize,
    server: ServerConfig,
    is_wanted: impl Fn() -> bool,
    cancel: CancellationToken,
) {
    let delays = services.config.reconnect;
    let mut backoff = Backoff::new(delays.first, delays.max);
    let mut known: Option<String> = None;
    while is_wanted() {
        // Another address of the name leads to the same server. A server accepts one link per runner.
        let is_taken =
            server.discover && known.as_ref().is_some_and(|server_id| services.links.is_linked_to(server_id));
        let wait = if is_taken {
            delays.lookup
        } else {
            let mut welcomed = None;
            let end = control::hold(&services, index, &server, &cancel, &mut welcomed).await;
            if welcomed.is_some() {
                backoff.reset();
                known = welcomed;
            }
            let Some(wait) = wait_after(&end, &server.endpoint, delays.refused, &mut backoff) else { return };
            wait
        };
        if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
            return;
        }
    }
    tracing::info!(server = server.endpoint, "the server's name no longer resolves to this address");
}

/// Returns the delay before the next connection, or `None` if the runner stops.
fn wait_after(end: &LinkEnd, endpoint: &str, refused: Duration, backoff: &mut Backoff) -> Option<Duration> {
    match end {
        LinkEnd::Stopped => None,
        LinkEnd::Refused(_) => {
            tracing::error!(server = endpoint, %end, "no link");
            backoff.reset();
            Some(jittered(refused))
        }
        LinkEnd::Lost(_) => {
            tracing::warn!(server = endpoint, %end, "no link");
            Some(backoff.jittered_step())
        }
    }
}
