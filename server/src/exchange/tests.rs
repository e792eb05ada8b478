//! Tests of exchanges with a simulated runner that is honest or violates the protocol.

mod download;
mod input;
mod lists;
mod open;
mod quarantine;
mod upload;
mod world;
