//! The runner's protocols as pure state machines. They cover the answer to an offer, the phases of a job, the epochs,
//! the credit of a server's reads, and the bookkeeping of kept output.
//!
//! A machine is a function `step(state, event) -> (state, effects)`. The runner performs the effects, and reports the
//! result as the next event. It does no I/O, starts no task and reads no clock: times are parts of events. The
//! encoding of records is the journal's.

#![forbid(unsafe_code)]

pub mod jobs;
pub mod links;
pub mod output;

#[cfg(test)]
mod samples;
