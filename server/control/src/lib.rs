//! The control of executions: everything between the edge of a server and its store.
//!
//! The modules in the order of a request: [`api`] (requests, events and errors of the services) -> the services
//! [`execution`], [`session`], [`approval`] and [`runners`] -> [`decision`] (calls the policy) -> `placement` ->
//! `transition` (makes every change of an execution's state) -> [`airlock_store`], which also holds the audit.
//! `reconcile` is above the services. [`services`] creates, starts and stops them together. [`exchange`], [`files`]
//! and [`forward`] carry files, input and connections; [`links`] and [`fleet`] lead to the runners.
//!
//! The caller is a [`model::Principal`] that the server has authenticated. The crate must not depend on the server, on
//! its configuration, on TLS, or on gRPC.

#![forbid(unsafe_code)]

pub mod api;
pub mod approval;
mod background;
pub mod decision;
pub mod decisions;
mod deliveries;
pub mod exchange;
pub mod execution;
pub mod files;
pub mod fleet;
pub mod forward;
pub mod hooks;
pub mod limits;
pub mod links;
pub mod model;
mod placement;
pub mod profiles;
mod reconcile;
mod runner_events;
pub mod runners;
pub mod services;
pub mod session;
mod shared;
mod transition;
pub mod watch;

#[cfg(any(test, feature = "tests"))]
pub mod testing;

pub use shared::{Levels, NoObserver, Observer, OutputKeeper, SessionInUse, TraceHooks, runner_unreachable};
