//! Several servers of one store: any of them answers for any execution, also without a link of its own to its runner;
//! and when one goes, another goes on.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod attacks;
mod forwarding;
mod random;
mod restarts;
mod siege;
