//! Tests of the machine: every event in every phase, and random sequences with failed writes and crashes.

mod random;
mod table;
