//! Servers behind one name, such as a headless service's: each address that it resolves to is dialled as a server of its
//! own, for as long as it resolves to it. It only looks up names; the links are made by those who are started here.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
};

use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tonic::transport::Uri;

use super::keep;
use crate::{config::ServerConfig, core::Core};

/// The port of an endpoint that names none.
const HTTPS_PORT: u16 = 443;

/// Keeps a link to each server behind a name until `cancel`. An address that is no longer there keeps its link for as
/// long as that lasts. A name that cannot be looked up changes nothing.
pub(super) async fn all(core: Arc<Core>, index: usize, server: ServerConfig, cancel: CancellationToken) {
    let Some((host, port)) = host_and_port(&server.endpoint) else { return };
    let wanted = watch::Sender::new(BTreeSet::new());
    let mut links = JoinSet::new();
    let mut kept = BTreeMap::new();
    let mut failing = false;
    loop {
        match tokio::net::lookup_host((host.as_str(), port)).await {
            Ok(found) => {
                failing = false;
                wanted.send_replace(found.collect());
            }
            Err(error) if failing => tracing::debug!(host, %error, "the name still cannot be looked up"),
            Err(error) => {
                failing = true;
                tracing::warn!(host, %error, "the name cannot be looked up; the links that there are stay");
            }
        }
        let addresses = wanted.borrow().clone();
        for address in addresses {
            if kept.contains_key(&address) {
                continue;
            }
            tracing::info!(host, %address, "a server to dial");
            let one = ServerConfig { endpoint: at(&server, address), ..server.clone() };
            let wanted = wanted.subscribe();
            let is_wanted = move || wanted.borrow().contains(&address);
            let task = links.spawn(keep(core.clone(), index, one, is_wanted, cancel.clone()));
            kept.insert(address, task.id());
        }
        tokio::select! {
            () = cancel.cancelled() => break,
            () = tokio::time::sleep(core.config.reconnect.lookup) => {}
        }
        while let Some(ended) = links.try_join_next_with_id() {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            kept.retain(|_, task| *task != id);
        }
    }
    while links.join_next().await.is_some() {}
}

/// The endpoint with this address in the place of its name. Whose certificate is taken does not depend on it.
fn at(server: &ServerConfig, address: SocketAddr) -> String {
    let scheme = if server.insecure_loopback { "http" } else { "https" };
    format!("{scheme}://{address}")
}

fn host_and_port(endpoint: &str) -> Option<(String, u16)> {
    let uri: Uri = endpoint.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, uri.port_u16().unwrap_or(HTTPS_PORT)))
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
