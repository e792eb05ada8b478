//! Support for the tests in `tests/`: where the code and the programs are, and how to start them.
//!
//! No test is here, and nothing here decides whether one passes.

#![forbid(unsafe_code)]

pub mod source;
