//! Tests of the edge of a real server over TLS on loopback: authentication, refusals, and continued
//! operation.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod auth;
mod background;
mod collector;
mod control;
mod exchange;
mod files;
mod link;
mod malformed;
mod members;
mod open;
mod outputs;
mod probes;
mod raw;
mod reload;
mod renew;
mod restore;
mod runner;
mod runs;
mod shares;
mod stdin;
mod stop;
mod stop_order;
mod told;
mod trace;
mod world;

use crate::PATIENCE;

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
