//! The times for which a client retries.

use std::time::Duration;

/// The time to retry without success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The time for a call or for the start of a command.
    pub call: Duration,
    /// The time for a view of an execution, since its last event or keepalive.
    pub view: Duration,
    /// The time for a download or an output reader that receives nothing new on an open connection. It must be longer
    /// than the server's wait for its runner.
    pub silence: Duration,
    /// The pause before the first retry; it doubles with each retry.
    pub backoff_first: Duration,
    /// The longest pause between two attempts.
    pub backoff_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(20),
            view: Duration::from_secs(120),
            silence: Duration::from_secs(600),
            backoff_first: Duration::from_millis(50),
            backoff_max: Duration::from_secs(3),
        }
    }
}
