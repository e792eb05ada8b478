//! Tests of the `airlock` command with a real server, a real runner and real sandboxes.

#![expect(clippy::unwrap_used, reason = "tests")]

mod approve;
mod check;
mod dev;
mod doctor;
mod files;
mod help;
mod input;
mod output;
mod policy;
mod run;
mod support;
mod terminal;
mod view;
mod wrong_use;
