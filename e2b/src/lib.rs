//! A front for the SDKs of E2B: they work unmodified with `E2B_API_URL` and `E2B_SANDBOX_URL`. It serves E2B's REST API for
//! sandboxes and the services of a sandbox for processes and files.
//!
//! The front is a client of Airlock, like any other one: a sandbox is a session, a process is an execution, and policy,
//! sandbox and audit apply. Each API key has an identity of its own. The front decides nothing about commands, and runs
//! none on its own host.

#![forbid(unsafe_code)]

mod account;
mod api;
mod body;
mod config;
mod connect;
mod entries;
mod envd;
mod front;
mod listen;
mod process;
mod refusal;
mod registry;
mod routes;
mod sandbox;
mod token;
mod watcher;
mod wire;

pub use config::{
    ConfigError, E2bConfig, KeyConfig, Layers, LimitsConfig, OnAsk, Overrides, ServerConfig, TlsConfig,
    VARIABLES, schema,
};
pub use listen::Listener;
pub use token::{KeyHash, new_key};
