//! The interface between `airlock-init` and the library that starts it: the messages, their transport, and the few
//! system calls that no safe wrapper covers.
//!
//! Must not contain policy: `airlock-sandbox` decides the contents of a sandbox.

pub mod frame;
pub mod grace;
pub mod ledger;
pub mod refusal;
pub mod sight;
pub mod sys;
pub mod wire;
