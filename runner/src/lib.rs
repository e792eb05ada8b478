//! Airlock's worker. It connects to the servers, keeps sessions, runs jobs in sandboxes and keeps their output.
//!
//! The runner listens on no network port and holds only its own credential. It makes no decisions: it checks each
//! request of a server against its own floor, and refuses a request that exceeds the floor.

#![forbid(unsafe_code)]

mod clock;
pub mod config;
pub mod doctor;
pub mod drain;
mod edit;
mod egress;
mod environ;
mod exchange;
mod expiry;
mod files;
mod floor;
mod forward;
mod guard;
mod inline;
mod job;
mod journal;
mod link;
mod push;
pub mod ready;
mod reconcile;
mod reports;
mod secrets;
mod services;
mod session;
mod socket;
mod spool;
mod start;
mod stdin;
mod telemetry;
mod trust;

pub use config::RunnerConfig;
pub use config::{Layers, Overrides, VARIABLES, schema as config_schema};
pub use files::FilesError;
pub use journal::JournalError;
pub use secrets::SecretError;
pub use session::SessionError;
pub use spool::SpoolError;
pub use start::{Runner, RunningRunner, StartError};
pub use telemetry::{METRICS, Telemetry, TelemetryError, level_in};

/// Returns the host paths that each sandbox shows read-only, at the same paths, if the sandbox has no root file
/// system of its own. Reads the host's file system.
#[must_use]
pub fn shown_of_host() -> Vec<std::path::PathBuf> {
    airlock_sandbox::Profile::minimal().binds.into_iter().map(|bind| bind.target).collect()
}
