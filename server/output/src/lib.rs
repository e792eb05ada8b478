//! The output of executions, from the runners that hold it to the readers.
//!
//! [`stream`] serves views and reads of an execution, and copies finished output into [`storage`]. Both read the state
//! of executions from [`airlock_store`]; neither decides about an execution. The links to the runners and the events
//! for telemetry are interfaces that the server implements.
//!
//! The crate must not depend on the control of executions, on the policy, on the configuration, or on gRPC.

#![forbid(unsafe_code)]

pub mod storage;
pub mod stream;
pub mod tickets;
