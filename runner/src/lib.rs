//! Airlock's worker: it dials the servers, keeps sessions, runs jobs in sandboxes, keeps their output.
//!
//! It listens on no network port, holds no credential but its own, and decides nothing: what a server
//! sends is held against the runner's own floor, and refused where it asks for more.

#![forbid(unsafe_code)]

mod clock;
pub mod config;
mod core;
pub mod doctor;
pub mod drain;
mod environ;
mod exchange;
mod expiry;
mod files;
mod floor;
mod guard;
mod inline;
mod job;
mod journal;
mod link;
mod push;
pub mod ready;
mod reports;
mod secrets;
mod session;
mod socket;
mod spool;
mod start;
mod stdin;
mod telemetry;
mod trust;

pub use config::RunnerConfig;
pub use files::FilesError;
pub use journal::JournalError;
pub use secrets::SecretError;
pub use session::SessionError;
pub use spool::SpoolError;
pub use start::{Runner, RunningRunner, StartError};
pub use telemetry::{METRICS, Telemetry, TelemetryError, level_in};

/// The host's folders and files that each sandbox shows at their own paths, read-only, where it has no root file system
/// of its own. Looks at the host.
#[must_use]
pub fn shown_of_host() -> Vec<std::path::PathBuf> {
    airlock_sandbox::Profile::minimal().binds.into_iter().map(|bind| bind.target).collect()
}
