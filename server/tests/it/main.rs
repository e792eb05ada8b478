//! The server's integration tests as one program.

use std::time::Duration;

mod binary;
mod commands;

/// How long a test waits for an expected event. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(120);

mod edge {
    //! Tests of the edge of a real server over TLS on loopback: authentication, refusals, and continued
    //! operation.

    #![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

    mod auth;
    mod collector;
    mod control;
    mod exchange;
    mod files;
    mod hooks;
    mod link;
    mod malformed;
    mod members;
    mod outputs;
    mod probes;
    mod raw;
    mod renew;
    mod restore;
    mod runner;
    mod runs;
    mod stdin;
    mod stop;
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
}
