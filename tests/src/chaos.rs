//! Chaos: faults at every state of an execution, at each step of its start and at each event of its stream,
//! and the reckoning after each. Each injection is named by row, seed and index, and can be made again alone;
//! how threads and processes interleave cannot, and is not part of the name.
//!
//! No test is here. [`rows::Row::run`] panics at the first promise that was broken, and says which injection
//! it was.

pub mod actor;
pub mod cast;
pub mod ledger;
pub mod plan;
pub mod play;
pub mod reckoning;
pub mod rows;
pub mod scene;
