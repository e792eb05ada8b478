//! Airlock's front service. Every decision is made here.
//!
//! The modules follow the way of a request: [`authn`] -> [`grpc`] (thin) -> [`decision`] (calls the
//! policy) -> [`approval`] -> [`placement`] -> [`execution`] (one closed state machine) -> [`stream`]
//! -> [`audit`] -> [`store`].

#![forbid(unsafe_code)]

pub mod api;
pub mod authn;
pub mod changes;
pub mod config;
pub mod engine;
pub mod faults;
pub mod limits;
pub mod links;
pub mod model;
pub mod profiles;
pub mod status;
pub mod store;
pub mod stream;
pub mod stream_door;
pub mod validate;

#[cfg(test)]
mod testing;
