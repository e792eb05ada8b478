//! Airlock's front service. It makes every decision.
//!
//! The modules in the order of a request: [`authn`] -> [`grpc`] (thin) -> [`decision`] (calls the policy) ->
//! [`approval`] -> [`placement`] -> [`execution`] (a closed state machine) -> [`stream`] -> [`store`], which
//! also holds the audit.

#![forbid(unsafe_code)]

pub mod api;
pub mod approval;
pub mod authn;
pub mod changes;
pub mod config;
pub mod decision;
pub mod engine;
pub mod exchange;
pub mod exchange_door;
pub mod execution;
pub mod fair;
pub mod files;
pub mod fleet;
pub mod grpc;
pub mod limits;
pub mod links;
mod listen;
pub mod model;
pub mod outputs;
pub mod peer_door;
pub mod placement;
mod probes;
pub mod profiles;
mod renew;
pub mod session;
mod shares;
mod slots;
pub mod status;
pub mod store;
pub mod stream;
pub mod stream_door;
pub mod telemetry;
pub mod tickets;
pub mod tls;
pub mod validate;
pub mod wiring;

#[cfg(test)]
mod testing;
