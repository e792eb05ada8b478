//! The jobs of a runner: offer, accept or refuse, run, end, report, forget.
//!
//! [`step()`] is the machine. Every change of a job is an effect [`Effect::Append`] with a [`Record`]. The state
//! changes when the runner reports whether the record was written. The state therefore follows from the records, even
//! after a crash at any moment.

mod event;
mod history;
mod job;
mod offer;
mod state;
mod step;

pub use event::{Effect, Event};
pub use history::{Boot, History};
pub use job::{Job, Phase, Record};
pub use offer::{Known, OfferKey, Reason, Room, Terms};
pub use state::State;
pub use step::step;
