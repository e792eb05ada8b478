//! The domain types that server, runner and client library share.
//!
//! They are plain data: no generated type, no I/O, no clock. Each enum is closed.

mod cause;
mod execution;
mod grant;
mod ids;
mod link;

pub use cause::{CancelledBy, Cause, DeniedBy, DirectoryReport, ExecutionResult, Started, TimeoutKind};
pub use execution::{ExecutionState, JobPhase, JobReport, LinkState, OutputState, OutputStream};
pub use grant::{Bind, Grant, Mode, NetworkMode, Requirement, SandboxLimits, SandboxProfile, Shell};
pub use ids::{ApprovalId, Epoch, ExecutionId, IdError, RunnerId, SessionId};
pub use link::{
    Capability, FromRunner, PushFromRunner, PushToRunner, RunnerHello, SessionPhase, SessionReport, StartJob,
    ToRunner,
};
