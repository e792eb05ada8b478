//! Tests of the proxy on loopback: what passes, and attempts to get past its rules. Each attempt has a control.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod authentication;
mod fixture;
mod inspected;
mod limits;
mod live;
mod memory;
mod names;
mod questions;
mod reports;
mod requests;
mod secrets;
mod site;
mod smuggling;
mod socks;
mod target;
mod tunnels;
mod upstream;
