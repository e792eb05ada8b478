//! What `airlock-init` and the library that starts it must agree on: the
//! messages, how they travel, and the few system calls that no safe wrapper
//! covers.
//!
//! Must not hold policy: what a sandbox contains is decided in
//! `airlock-sandbox`.

pub mod frame;
pub mod grace;
pub mod sight;
pub mod sys;
pub mod wire;
