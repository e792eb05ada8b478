//! The part of the escape suite that only a whole runner can promise: a real runner process, with root and of
//! an ordinary user, with real sandboxes, and a server that the test plays.
//!
//! Each test is one way of one promise and has a control in which the same attempt succeeds, because what
//! stops it is off; a row whose control was not tried fails. The host is compared before and after. No control
//! touches what is not the test's own.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails by panicking"
)]

#[macro_use]
mod suite;

mod disk;
#[expect(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "../it/fake.rs"]
mod fake;
#[expect(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "../it/fixture.rs"]
mod fixture;
#[path = "../../../sandbox/tests/escape/host_state.rs"]
mod host_state;
mod leftovers;
mod output;
#[path = "../../../sandbox/tests/escape/promises.rs"]
mod promises;
mod protected;
mod replaced;
mod repositories;
mod secrets;
mod site;
mod state;
mod support;
