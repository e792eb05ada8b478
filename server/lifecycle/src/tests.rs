//! Tests of the state machine.

mod effects;
mod owners;
mod random;
mod table;
