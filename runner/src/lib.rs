//! Airlock's worker: it dials the servers, keeps sessions, runs jobs in sandboxes, keeps their output.

#![forbid(unsafe_code)]

mod config;
mod journal;
mod push;
mod spool;
