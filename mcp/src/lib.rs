//! A server of the Model Context Protocol (MCP). Its tools run commands in a session of Airlock and work on the files of
//! that session. Each MCP connection has one session.
//!
//! This crate is a client of the public contract: it can do nothing that [`airlock_client`] cannot do. Every tool is a
//! command that policy decides, that runs in the sandbox and that the audit records. The crate does not print, except the
//! protocol to standard output in [`stdio()`].

#![forbid(unsafe_code)]

mod call;
mod handler;
pub mod http;
mod options;
mod question;
mod stdio;
mod text;
pub mod token;
mod tools;
mod workspace;

pub use options::{Connecting, Options};
pub use stdio::stdio;
