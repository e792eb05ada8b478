//! Several servers of one store: each of them answers for every execution, also without its own link to the runner,
//! and when a server ends, another one takes over.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod attacks;
mod forwarding;
mod random;
mod restarts;
mod siege;
