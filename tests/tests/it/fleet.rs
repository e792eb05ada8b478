//! Several servers of one store. Each of them answers for every execution, even without its own link to the runner.
//! When a server ends, another one takes over.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod attacks;
mod forwarding;
mod random;
mod restarts;
mod siege;
