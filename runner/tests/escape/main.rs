//! The part of the escape suite that needs a whole runner. It uses a real runner process, with root and of an
//! unprivileged user, real sandboxes, and a server that the test implements.
//!
//! Each test is one attempt for one promise. Its control shows that the same attempt succeeds if the tested layer is
//! off. A row without a control that was tried fails. The state of the host is compared before and after. No control
//! affects anything outside the test.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[macro_use]
mod suite;

mod disk;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "../it/fake.rs"]
mod fake;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
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
