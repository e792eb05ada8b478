//! The Rust client library, and the modules of the `airlock` command.
//!
//! Only [`client`] is intended for other programs.

#![forbid(unsafe_code)]

pub mod client;
pub mod command;
pub mod dev;
pub mod render;
pub mod state;
