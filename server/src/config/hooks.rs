//! The configuration section of a hook and its defaults. Plain data; `check/hooks.rs` checks it.

use std::{path::PathBuf, time::Duration};

use airlock_config::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum of a hook's timeout in milliseconds. An agent waits for it.
const TIMEOUT_MAX: u64 = 60_000;
/// The maximum of `breaker_wait` in milliseconds.
const BREAKER_WAIT_MAX: u64 = 600_000;

type Timeout = Time<10, TIMEOUT_MAX>;
type BreakerWait = Time<100, BREAKER_WAIT_MAX>;

/// A hook: a service of the user that is asked before executions and that receives their results.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The address, `https://HOST:PORT`.
    pub address: String,
    /// Plain text, for development. Permitted only if the host in `address` is a loopback IP address; the address then
    /// begins with `http://`.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// The authorities that may sign the hook's certificate, in PEM. Required unless `insecure_loopback` is set.
    pub ca: Option<PathBuf>,
    /// This server's client certificate for the hook, followed by intermediate certificates, in PEM.
    pub certificate: Option<PathBuf>,
    /// The private key.
    pub key: Option<PathBuf>,
    /// The name that the hook's certificate must contain. Default: the host in `address`.
    #[schemars(length(min = 1))]
    pub server_name: Option<String>,
    /// The longest time from a question to its answer. It includes the time in which the question waits for its turn.
    #[serde(default = "five_seconds", with = "Timeout")]
    pub timeout: Duration,
    /// Concurrent calls of this server to the hook. Further questions wait for their turn within `timeout`; the tenants
    /// take turns.
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 1000))]
    pub in_flight: usize,
    /// The number of consecutive failed calls after which the server stops calling the hook. A failed call has no answer
    /// in time, or is refused. Questions are then answered at once with UNAVAILABLE.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 1000))]
    pub breaker_failures: u32,
    /// The time for which the server does not call the hook after that. Then one call tries it.
    #[serde(default = "ten_seconds", with = "BreakerWait")]
    pub breaker_wait: Duration,
}

impl Hook {
    /// Returns the files of the table, with their keys.
    pub(crate) fn files(&self) -> [(&'static str, Option<&PathBuf>); 3] {
        [("ca", self.ca.as_ref()), ("certificate", self.certificate.as_ref()), ("key", self.key.as_ref())]
    }
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

fn sixteen() -> usize {
    16
}

fn five() -> u32 {
    5
}
