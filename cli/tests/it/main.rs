//! The `airlock` command against a real server, a real runner and real sandboxes.

#![expect(clippy::unwrap_used, reason = "tests")]

mod approve;
mod check;
mod dev;
mod run;
mod support;
mod view;
