//! Secrets in Vault or OpenBao, read through the HTTP API: the key-value engine, version 1 or 2.
//!
//! The runner has a token in a file, or logs in with the token of its Kubernetes service account. A value is kept for a
//! short time, and read again before this time ends. Every wait, every answer and every kept value is bounded. Must not
//! log or show a value, a token or an answer, and must not write to Vault.
//!
//! The crate knows nothing of the runner and of the server. It starts no task that outlives a call.

#![forbid(unsafe_code)]

mod address;
mod answer;
mod api;
mod error;
mod kept;
mod login;
mod settings;
mod vault;

pub use address::{Address, AddressError};
pub use error::VaultError;
pub use settings::{Place, PlaceError, Settings};
pub use vault::{Health, Vault};
