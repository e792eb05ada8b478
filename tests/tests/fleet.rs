//! Several servers of one store: any of them answers for any execution, also without a link of its own to its runner;
//! and when one goes, another goes on.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "fleet/attacks.rs"]
mod attacks;
#[path = "fleet/forwarding.rs"]
mod forwarding;
#[path = "fleet/random.rs"]
mod random;
#[path = "fleet/restarts.rs"]
mod restarts;
#[path = "fleet/siege.rs"]
mod siege;
