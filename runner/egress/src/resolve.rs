//! The resolution of names.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Resolves names. The proxy asks once per connection, limits the time, and drops the future when the time is over.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a normalized name, in the order in which to try them.
    ///
    /// # Errors
    ///
    /// Fails if the name has no address, or if no server answers.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Threads that may wait for the system's resolver at the same time.
const THREADS: usize = 64;

/// The system's resolver: `/etc/hosts`, the name servers and the search list of the runner's host.
#[derive(Debug)]
pub struct SystemResolver {
    threads: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(THREADS)) }
    }
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        // A thread in the system's resolver cannot be cancelled. It therefore holds its permit until it returns, which
        // `tokio::net::lookup_host` could not ensure.
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = move || {
            let addresses = (name.as_str(), 0).to_socket_addrs();
            drop(permit);
            addresses.map(|addresses| addresses.map(|address| address.ip()).collect())
        };
        tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
    }
}
