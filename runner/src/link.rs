//! The links: the runner connects to each configured server, and reconnects for as long as it runs.
//!
//! Within the runner, only this module uses wire types. A lost link does not affect jobs: they continue, and the next
//! link reports everything again.

mod control;
mod dial;
mod discover;
mod end;
mod endpoint;
mod exchange;
mod keep;
mod output;
mod requests;
mod state;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{config::ServerConfig, services::Services};

/// Keeps the links to a configured server, or to each server that its name resolves to, until `cancel`. `index` is the
/// server's position in the configuration.
pub(crate) async fn keep_all(
    services: Arc<Services>,
    index: usize,
    server: ServerConfig,
    cancel: CancellationToken,
) {
    if server.discover {
        discover::all(services, index, server, cancel).await;
    } else {
        keep::keep(services, index, server, || true, cancel).await;
    }
}
