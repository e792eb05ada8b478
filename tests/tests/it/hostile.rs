//! Hostile input gets the right error with details, and the service keeps running. The inputs are malformed requests,
//! wrong credentials, cut streams, and runners and servers that lie.
//!
//! Each file contains one kind of attack. Each test ends with an honest command on the same server and
//! runner, and searches their logs for panics.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a missing item fails them"
)]

mod credentials;
mod fake_runner;
mod fake_server;
mod fields;
mod fixture;
mod floor;
mod forms;
mod gone;
mod link;
mod lying_server;
mod pushes;
mod roles;
mod server_lies;
mod shown;
mod tenants;
mod truncated;
