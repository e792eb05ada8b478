//! Fault points at which a test can kill this process, to check the state that survives. In release builds every
//! function is empty. The crate must not change the behaviour of a process unless a test requests it.
//!
//! `AIRLOCK_FAULT=POINT` kills the process at the first arrival there, `AIRLOCK_FAULT=POINT:3` at the third, and
//! `AIRLOCK_FAULT=POINT/NAME:3` at the third with this name. The process gets SIGKILL, so nothing is flushed, closed
//! or dropped. `AIRLOCK_FAULT_TRACE=FILE` appends a line `POINT/NAME` to the file for each arrival, so that a test
//! can list them. `AIRLOCK_FAULT_STORE=FILE` makes all reads and writes of the store fail while the file exists, as
//! with a failing disk.

#![forbid(unsafe_code)]

mod point;

#[cfg(not(debug_assertions))]
use std::fmt::Debug;

pub use point::Point;

/// Reports whether a test has made the store unavailable.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn is_away() -> bool {
    false
}

/// Kills the process if a test has armed this arrival. The arrival's name is the first word of `what`: an enum's
/// variant.
#[cfg(not(debug_assertions))]
#[inline]
pub fn hit(_: Point, _: &dyn Debug) {}

/// Reports whether the next [`hit`] here kills the process, so that pending data can be sent before.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn is_next(_: Point, _: &dyn Debug) -> bool {
    false
}

/// Returns the name of an arrival, for use after `what` was moved.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn name_of(_: &dyn Debug) -> String {
    String::new()
}

#[cfg(debug_assertions)]
mod armed;
#[cfg(debug_assertions)]
pub use armed::{hit, is_away, is_next, name_of};
