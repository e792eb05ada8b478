//! Validation of requests and their conversion to the domain. All invalid fields of a request are reported
//! together.
//!
//! The services check the conditions that depend on a session, a profile or the store.

mod checker;
mod command;
mod control;
mod execution;
mod file;
mod forward;
mod lists;
mod policy;
mod read_output;
mod runner;
mod terminal;

pub(crate) use command::show_command;
pub use control::{create_session, drain_runner, resize, session_id, signal, update_session, watch};
pub use execution::{Attach, Check, Start, attach, check, decide, execution_id, get_execution, start, wait};
pub use file::{
    diff, download, list_files, list_quarantine, more_stdin, restore_quarantine, stat, upload, upload_chunk,
    write_stdin,
};
pub use forward::{forward, forward_part};
pub use lists::{list_approvals, list_executions, list_rules, list_runners, list_sessions, remove_rule};
pub use policy::{ListProfiles, get_capabilities, get_profile, list_profiles};
pub use read_output::read_output;
pub use runner::{from_runner, hello};

#[cfg(test)]
mod tests;
