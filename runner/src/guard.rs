//! The protected names of a session, in its workspace and its HOME. This module turns a grant into the read-only
//! mounts of the sandbox, and found changes into the violations of a result.
//!
//! `airlock_sandbox::protect` does all work in the directories, on a thread with the rights of the session's user.
//! Blocks. Must not decide how a violation changes the result of a command.

mod guarded;
mod watch;

pub(crate) use guarded::{GuardError, Guarded, SessionGuard};
pub(crate) use watch::{Watch, failed};
