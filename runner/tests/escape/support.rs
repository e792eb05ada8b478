//! Waiting, as the shared look at the host needs it.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Fails after ten seconds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < until, "not within ten seconds: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
