//! The state and the interfaces that the services for executions, sessions and runners share.

mod clock;
mod errors;
mod hints;
mod lifecycle;
mod observer;
mod output;
mod pending;
mod presence;
mod runner_slots;
mod session_state;
mod session_uses;
mod session_waits;
mod trace;
mod transient;

pub(crate) use clock::{Clock, micros};
pub(crate) use errors::{
    exhausted, exhausted_for, no_such_execution, no_such_session, not_running, runner_unreachable, violation,
};
pub(crate) use hints::Hints;
pub(crate) use lifecycle::Lifecycle;
pub use observer::{Levels, NoObserver, Observer};
pub use output::OutputKeeper;
pub(crate) use presence::Presence;
pub(crate) use runner_slots::{RunnerSlots, SlotResult};
pub(crate) use session_state::{check_not_over, check_open};
pub use session_uses::SessionInUse;
pub(crate) use session_uses::SessionUses;
pub(crate) use session_waits::SessionWaits;
pub use trace::TraceHooks;
pub(crate) use transient::TransientState;
