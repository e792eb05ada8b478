//! Whatever comes in from outside gets the right answer, with details, and the service runs on:
//! malformed requests, wrong credentials, cut streams, runners and servers that lie.
//!
//! Each file is one kind of attack; each test ends with an honest command on the same server and runner,
//! and looks for panics in their logs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: what is not there fails them"
)]

mod credentials;
mod fake_runner;
mod fake_server;
mod fields;
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
mod world;
