//! The server's protocol of an execution as a pure state machine. Its steps are decide, queue, offer, accept, run, end
//! and store. It covers leases, epochs, take-over and re-attachment.
//!
//! * An [`Event`] is something that happens to an execution.
//! * [`decide`] returns the [`Transition`] that follows from an event, or `None`. It is the only source of transitions.
//! * [`taken()`] applies a transition to a record. Every store uses it, so the rules of all stores are the same.
//! * [`effects`] returns the actions that the server must then perform, as data.
//! * [`step`] is the whole machine: record and event in, record and effects out.
//!
//! The services of the server are loops around this crate. They read the record, ask for the transition, write it by
//! compare-and-set, and perform the effects. After a lost race they ask again. This crate must not do I/O and must not
//! read a clock: time is a value of an event.

#![forbid(unsafe_code)]

pub mod record;

mod effect;
mod event;
mod follow;
mod machine;
mod output;
mod owner;
mod question;
mod refusal;
mod report;
mod results;
mod taken;
mod transition;

#[cfg(test)]
mod testing;
pub use effect::{Effect, Effects, JobEffect, Outcome};
pub use event::{Answer, Event, Offered};
pub use follow::{effects, entered};
pub use machine::{decide, step};
pub use output::{OUTPUTS, OutputBy, OutputEvent, is_unstored};
pub use owner::{Lease, OwnerEvent, change_owner, may_settle};
pub use question::{Question, Redecision};
pub use refusal::{Refusal, before_refusal};
pub use report::{Reception, Reported, received};
pub use results::{Absence, PLACED, Settlement, is_placed, lost_result, settle};
pub use taken::{NotPermitted, Taken, asks_about_connection, created, taken};
pub use transition::Transition;

#[cfg(test)]
mod tests {
    //! Tests of the state machine.

    mod effects;
    mod random;
    mod table;
}
