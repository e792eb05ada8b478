//! Waiting, as the shared look at the host needs it.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::fixture::PATIENCE;

/// Fails when [`PATIENCE`] is over.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
