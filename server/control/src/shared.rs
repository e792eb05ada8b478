//! The state and the interfaces that the services for executions, sessions and runners share.

mod clock;
mod errors;
mod hints;
mod interfaces;
mod lifecycle;
mod presence;
mod runner_slots;
mod session_uses;
mod transient;

pub(crate) use clock::{Clock, micros};
pub use errors::runner_unreachable;
pub(crate) use errors::{
    check_not_over, check_open, exhausted, exhausted_for, no_such_execution, no_such_session, not_running,
    violation,
};
pub(crate) use hints::Hints;
pub use interfaces::{Levels, NoObserver, Observer, OutputKeeper, TraceHooks};
pub(crate) use lifecycle::Lifecycle;
pub(crate) use presence::Presence;
pub(crate) use runner_slots::{RunnerSlots, SlotResult};
pub use session_uses::SessionInUse;
pub(crate) use session_uses::{SessionUses, SessionWaits};
pub(crate) use transient::TransientState;
