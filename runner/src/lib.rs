//! Airlock's worker: it dials the servers, keeps sessions, runs jobs in sandboxes, keeps their output.

#![forbid(unsafe_code)]

mod clock;
mod config;
mod floor;
mod journal;
mod push;
mod reports;
mod session;
mod spool;
