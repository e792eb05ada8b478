//! The persistent state of the servers.
//!
//! Each method of the trait is one complete transaction. Only the implementations contain SQL, and a process that dies
//! never leaves a partial step. All times come from the store's clock.

#[cfg(test)]
pub(crate) mod contract;
pub(crate) mod page;
pub mod postgres;
mod room;
mod sql;
pub mod sqlite;
mod traits;
mod values;

pub use airlock_lifecycle::{OutputBy, Transition};

pub use room::{Created, Room, TakeQueued};
pub use traits::{ApprovalStore, AuditStore, ExecutionStore, OutputStore, RunnerStore, SessionStore, Store};
pub use values::{
    ApprovalAnswer, ApprovalQuery, Cas, Durability, ExecutionQuery, FENCED_EPOCHS, MilestoneQuery,
    Milestones, NewExecution, Page, PageQuery, Remember, RuleQuery, RunnerPut, STATE_CHANGES_AT_ONCE,
    SessionChange, SessionQuery, StoreError,
};
