//! Chaos tests: faults in every state of an execution, at each step of its start and at each event of its
//! stream, each followed by a consistency check. An injection is identified by row, seed and index, and can
//! be repeated alone. The interleaving of threads and processes cannot be repeated.
//!
//! This module contains no tests. [`rows::Row::run`] panics at the first violated guarantee, and names the
//! injection.

pub mod actor;
pub mod actors;
pub mod consistency_check;
pub mod ledger;
pub mod plan;
pub mod rows;
pub mod scenario;
pub mod scene;
