//! Attacks on packing and unpacking, and what they must do for everyone else.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod hostile;
mod pack;
mod race;
mod round_trip;
mod tree;
mod unpack;
