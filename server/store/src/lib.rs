//! The persistent state of the servers.
//!
//! [`Store`] is the contract. [`sqlite`] and [`postgres`] implement it with the same queries. Each method of the
//! contract is one complete transaction, and a process that dies never leaves a partial step. Only this crate contains
//! SQL. All times come from the store's clock.
//!
//! The crate decides nothing: the state machine of `airlock_lifecycle` determines each step of an execution. It must
//! not depend on the server, on its configuration, or on gRPC.

#![forbid(unsafe_code)]

pub mod changes;
pub mod fair;
pub mod page;
pub mod postgres;
pub mod record;
pub mod sqlite;

mod delivery;
mod room;
mod sql;
mod traits;
mod values;

#[cfg(test)]
mod contract;
#[cfg(any(test, feature = "tests"))]
pub mod testing;

pub use airlock_lifecycle::{OutputBy, Transition};

pub use delivery::{Delivery, TakeDeliveries};
pub use room::{Created, Room, TakeQueued};
pub use traits::{
    ApprovalStore, AuditStore, DeliveryStore, ExecutionStore, HookStore, OutputStore, RunnerStore,
    SessionStore, Store,
};
pub use values::{
    ApprovalAnswer, ApprovalQuery, Cas, ChangedBy, ConnectionQuestion, Durability, ExecutionQuery,
    FENCED_EPOCHS, HookQuestion, HookQuestionState, MilestoneQuery, Milestones, NetworkChange, NewExecution,
    Page, PageQuery, Remember, RuleQuery, RunnerPut, STATE_CHANGES_AT_ONCE, SessionChange, SessionQuery,
    StartClaim, StoreError,
};
