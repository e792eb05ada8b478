//! The modules of the `airlock` command. `airlock-client` talks to servers, `airlock-embedded` runs one.

#![forbid(unsafe_code)]

pub mod command;
pub mod render;
