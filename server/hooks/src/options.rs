//! The options of a hook, and what observes and completes its calls.

use std::{path::PathBuf, time::Duration};

use airlock_domain::HookOutcome;
use airlock_proto::v1;

use crate::breaker::BreakerState;

/// The address of a hook, and the limits of the calls to it.
#[derive(Debug, Clone)]
pub struct HookOptions {
    /// `https://HOST:PORT`, or `http://HOST:PORT` without `tls`.
    pub address: String,
    /// The files of TLS. `None`: plain text, which the caller permits only on loopback addresses.
    pub tls: Option<TlsFiles>,
    /// The longest time from a question to its answer, including the time in which it waits for its turn.
    pub timeout: Duration,
    /// Concurrent calls of each method.
    pub in_flight: usize,
    /// Consecutive failures after which the hook is not called.
    pub breaker_failures: u32,
    /// The time for which it is not called.
    pub breaker_wait: Duration,
}

/// The PEM files of the connection to a hook.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The authorities that may sign the hook's certificate.
    pub ca: PathBuf,
    /// The server's client certificate and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the hook's certificate must contain. `None`: the host of the address.
    pub server_name: Option<String>,
}

/// A method of the hooks' service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The question before an execution.
    PreExecute,
    /// The delivery of a result.
    PostExecute,
}

impl Method {
    /// Returns the name in the contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreExecute => "PreExecute",
            Self::PostExecute => "PostExecute",
        }
    }
}

/// Receives the events of the calls, for telemetry. The calls must return at once. The names of hooks come from the
/// configuration.
pub trait HookObserver: Send + Sync {
    /// A call has ended with this outcome. A confirmed delivery has the outcome `None`.
    fn called(&self, _hook: &str, _method: Method, _outcome: HookOutcome, _time: Duration) {}
    /// The breaker of a method has changed.
    fn breaker(&self, _hook: &str, _method: Method, _state: BreakerState) {}
}

/// Adds the fields of a result that the server derives for its clients.
pub type Explain = fn(&mut v1::Result, Option<&v1::Decision>);
