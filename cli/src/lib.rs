//! The Rust client library, and the parts of the `airlock` command.
//!
//! Only [`client`] is meant for other programs.

#![forbid(unsafe_code)]

pub mod client;
pub mod command;
pub mod dev;
pub mod render;
pub mod state;
