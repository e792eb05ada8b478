//! Tests of the state machine.

mod effects;
mod outputs;
mod owners;
mod random;
mod table;
