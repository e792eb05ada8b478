//! Fixtures for the tests in `tests/`: the locations of code and programs, and functions that start
//! them.
//!
//! This crate contains no tests, and does not decide whether a test passes.

#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "support for tests: a missing precondition fails the test"
)]

pub mod chaos;
pub mod chart;
pub mod cluster;
pub mod collector;
pub mod crates;
pub mod cutter;
pub mod desk;
pub mod engines;
pub mod exercise;
pub mod fleet;
pub mod footprint;
pub mod images;
pub mod pages;
pub mod pki;
pub mod pod;
pub mod port;
pub mod process;
pub mod raw;
pub mod reader;
pub mod schema;
pub mod siege;
pub mod site;
pub mod source;
pub mod tmux;
pub mod toolchain;
pub mod tools;
pub mod trickle;
pub mod typed;
pub mod uses;
