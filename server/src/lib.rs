//! Airlock's front service: the edge of the control of executions.
//!
//! [`authn`] finds the caller of a request. [`grpc`] validates the request and calls the services of
//! [`airlock_control`], or the output streams of [`airlock_output`]. The handlers are thin, and generated types go no
//! further. [`wiring`] creates the parts from the configuration, and starts and stops them.

#![forbid(unsafe_code)]

pub mod authn;
pub mod config;
pub mod grpc;
mod listen;
mod probes;
mod renew;
pub mod status;
pub mod telemetry;
pub mod tls;
pub mod validate;
pub mod wiring;

pub use airlock_control::{model, profiles};
