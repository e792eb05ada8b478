//! Airlock's front service. The server makes every decision.
//!
//! The modules in the order of a request: [`authn`] -> [`grpc`] (thin) -> the services [`execution`], [`session`],
//! [`approval`] and [`runners`] -> [`decision`] (calls the policy) -> `placement` -> `transition` (makes every change
//! of an execution's state) -> [`airlock_output::stream`] -> [`airlock_store`], which also holds the audit. `reconcile` is above the
//! services.

#![forbid(unsafe_code)]

pub mod api;
pub mod approval;
pub mod authn;
mod background;
pub mod config;
pub mod control;
pub mod decision;
pub mod decisions;
pub mod exchange;
pub mod execution;
pub mod files;
pub mod fleet;
pub mod grpc;
pub mod limits;
pub mod links;
mod listen;
pub mod model;
mod placement;
mod probes;
pub mod profiles;
mod reconcile;
mod renew;
mod runner_events;
pub mod runners;
pub mod services;
pub mod session;
pub mod status;
pub mod telemetry;
pub mod tls;
mod transition;
pub mod validate;
pub mod watch;
pub mod wiring;

#[cfg(test)]
mod testing;
