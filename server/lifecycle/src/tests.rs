//! Tests of the state machine.

mod effects;
mod random;
mod table;
