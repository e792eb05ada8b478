//! The wait function that the shared host checks use.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::fixture::PATIENCE;

/// Waits for the condition. Fails after [`PATIENCE`].
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
