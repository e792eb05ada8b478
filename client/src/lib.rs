//! A Rust client for `airlock.v1`: typed calls, and executions as streams of events that survive broken connections.
//!
//! ```no_run
//! # async fn example() -> Result<(), airlock_client::ClientError> {
//! use airlock_client::{Client, Settings, v1};
//!
//! let client = Client::connect(Settings::new("https://airlock.example:7443")).await?;
//! let spec = v1::ExecutionSpec { command: "pytest -q".into(), ..Default::default() };
//! let mut events = client.run(spec);
//! while let Some(event) = events.next().await? {
//!     println!("{event:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate does not print, does not read the environment, and accesses only files that a call or the settings name.

#![forbid(unsafe_code)]

mod calls;
mod client;
mod connection;
mod connector;
mod directories;
mod download;
mod error;
mod events;
mod files;
mod forward;
mod input;
mod output;
mod piece;
mod position;
mod retry;
mod search;
mod settings;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod text;
mod upload;
mod watch;

pub use airlock_proto::v1;
pub use calls::{admin::Admin, policy::Policy};
pub use client::Client;
pub use directories::{DirectoryDownloaded, DirectoryOptions, DirectoryUploaded};
pub use download::Download;
pub use error::{ClientError, Rejection, Violation};
pub use events::{Events, From};
pub use forward::{Forward, ForwardReceiver, ForwardSender, Forwarded};
pub use input::Written;
pub use output::OutputReader;
pub use piece::{OutputPiece, Selection};
pub use retry::Patience;
pub use settings::{Credentials, Files, Settings};
pub use upload::Progress;
pub use watch::Watch;
