//! Tests of packing and unpacking, with and without attacks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod hostile;
mod pack;
mod race;
mod round_trip;
mod tree;
mod unpack;
