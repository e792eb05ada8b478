//! The links: each configured server is dialled, and dialled again, for as long as the runner lives.
//!
//! Wire types live here and nowhere else in the runner. A link that is lost costs nothing but itself:
//! jobs go on, and everything is reported again on the next one.

mod backoff;
mod control;
mod dial;
mod exchange;
mod output;

use std::sync::Arc;

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

/// Keeps a link to one server until `cancel`. `index` is the server's place in the configuration.
pub(crate) async fn keep(core: Arc<Core>, index: usize, server: ServerConfig, cancel: CancellationToken) {
    let mut backoff = Backoff::new(core.config.reconnect);
    loop {
        let mut welcomed = false;
        let end = control::hold(&core, index, &server, &cancel, &mut welcomed).await;
        if welcomed {
            backoff.reset();
        }
        let wait = match end {
            LinkEnd::Stopped => return,
            LinkEnd::Refused(_) => {
                tracing::error!(server = server.endpoint, %end, "no link");
                backoff.refused()
            }
            LinkEnd::Lost(_) => {
                tracing::warn!(server = server.endpoint, %end, "no link");
                backoff.next()
            }
        };
        if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
            return;
        }
    }
}
