//! The escape suite: forbidden actions that a command attempts from inside a sandbox.
//!
//! Each test is one attempt for one promise, and runs twice. `as_root` uses a runner that gives each session its own
//! uid, `as_user` a runner of an unprivileged user. Each names the layer that stops it and the layer's answer. Each
//! has a control, in which the same attempt succeeds because that layer is off, and leaves the host unchanged. A test
//! that cannot run fails.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

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
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "../it/support.rs"]
mod support;
mod terminal;
mod writes;
