//! The escape suite: what a command must not be able to do, tried from inside.
//!
//! Each test is one way of one promise, and runs twice: `as_root` with a runner
//! that gives each session a uid of its own, `as_user` with one that an ordinary
//! user started. Each says which layer stops it and how that layer answers, has a
//! control in which the same attempt succeeds because that layer is off, and
//! leaves the host as it was. A test that cannot run fails.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails by panicking"
)]

#[macro_use]
mod suite;

mod again;
mod calls;
mod control;
mod files;
mod git;
mod host_state;
mod kernel;
mod layer;
mod lifetime;
mod limits;
mod network;
mod output;
mod pid1;
mod processes;
mod promises;
mod protected;
mod report;
mod row;
mod secrets;
mod stage;
#[expect(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "../it/support.rs"]
mod support;
mod terminal;
mod writes;
