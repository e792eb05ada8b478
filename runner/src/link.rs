//! The links: the runner connects to each configured server, and reconnects for as long as it runs.
//!
//! Within the runner, only this module uses wire types. A lost link does not affect jobs: they continue, and the next
//! link reports everything again.

mod control;
mod endpoint;
mod exchange;
mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlock_backoff::{Backoff, jittered};
use endpoint::LinkEnd;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::transport::Uri;

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
        discover_all(services, index, server, cancel).await;
    } else {
        keep(services, index, server, || true, cancel).await;
    }
}

/// The port of an endpoint without one.
const HTTPS_PORT: u16 = 443;

/// Keeps a link to each server of a name until `cancel`. A link to an address that disappears is kept until it ends. A
/// failed lookup changes nothing.
async fn discover_all(
    services: Arc<Services>,
    index: usize,
    server: ServerConfig,
    cancel: CancellationToken,
) {
    let Some((host, port)) = host_and_port(&server.endpoint) else { return };
    let mut name = Name { host, port, failing: false };
    let wanted = watch::Sender::new(BTreeSet::new());
    let mut links = JoinSet::new();
    let mut kept = BTreeMap::new();
    loop {
        if let Some(found) = name.look_up().await {
            wanted.send_replace(found);
        }
        let new: Vec<_> =
            wanted.borrow().iter().filter(|address| !kept.contains_key(*address)).copied().collect();
        for address in new {
            tracing::info!(host = name.host, %address, "a server to dial");
            let one = ServerConfig { endpoint: at(&server, address), ..server.clone() };
            let wanted = wanted.subscribe();
            let is_wanted = move || wanted.borrow().contains(&address);
            let task = links.spawn(keep(services.clone(), index, one, is_wanted, cancel.clone()));
            kept.insert(address, task.id());
        }
        if cancel.run_until_cancelled(tokio::time::sleep(services.config.reconnect.lookup)).await.is_none() {
            break;
        }
        while let Some(ended) = links.try_join_next_with_id() {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            kept.retain(|_, task| *task != id);
        }
    }
    while links.join_next().await.is_some() {}
}

/// A name that is looked up periodically.
struct Name {
    host: String,
    port: u16,
    /// Whether the last lookup failed, so that the failure is logged once.
    failing: bool,
}

impl Name {
    /// Returns the current addresses, or `None` if the lookup fails.
    async fn look_up(&mut self) -> Option<BTreeSet<SocketAddr>> {
        match tokio::net::lookup_host((self.host.as_str(), self.port)).await {
            Ok(found) => {
                self.failing = false;
                Some(found.collect())
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    let host = &self.host;
                    tracing::warn!(host, %error, "cannot resolve the server's name; existing links stay up");
                }
                None
            }
        }
    }
}

/// Returns the endpoint with the address instead of the name. The name that the certificate must carry does not change.
fn at(server: &ServerConfig, address: SocketAddr) -> String {
    let scheme = if server.insecure_loopback { "http" } else { "https" };
    format!("{scheme}://{address}")
}

fn host_and_port(endpoint: &str) -> Option<(String, u16)> {
    let uri: Uri = endpoint.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, uri.port_u16().unwrap_or(HTTPS_PORT)))
}

/// Keeps a link to one server until `cancel`, or until the link ends and `is_wanted` returns false.
async fn keep(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_take_the_place_of_the_name_and_keep_the_port() {
        let server =
            ServerConfig { endpoint: "https://servers.airlock:7443".to_owned(), ..Default::default() };
        assert_eq!(host_and_port(&server.endpoint), Some(("servers.airlock".to_owned(), 7443)));
        assert_eq!(host_and_port("https://servers.airlock"), Some(("servers.airlock".to_owned(), 443)));
        assert_eq!(host_and_port("https://[::1]:1"), Some(("::1".to_owned(), 1)));
        assert_eq!(at(&server, "10.0.0.1:7443".parse().unwrap()), "https://10.0.0.1:7443");
        assert_eq!(at(&server, "[fd00::1]:7443".parse().unwrap()), "https://[fd00::1]:7443");
    }
}
