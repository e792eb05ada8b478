//! Formatting of results: text for people and JSON for programs. Pure: nothing here prints or calls
//! a server.

pub use airlock_client::text;
pub use airlock_escape as escape;

pub mod approval;
pub mod cause;
pub mod changes;
pub mod decision;
pub mod execution;
pub mod files;
pub mod json;
pub mod names;
pub mod network;
pub mod runner;
pub mod table;
pub mod time;
