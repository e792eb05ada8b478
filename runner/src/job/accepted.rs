//! An accepted job.

use std::sync::Arc;

use airlock_domain::{ExecutionId, Grant, Shell};
use airlock_sandbox::{Profile, env::Scrubbed};

use super::handle::Handle;
use crate::{secrets::Replacer, session::OpenSession};

/// One accepted job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: ExecutionId,
    pub(crate) grant: Grant,
    /// The grant's profile, within the floor.
    pub(crate) profile: Profile,
    /// The variables passed from the runner's environment, and the names of those removed.
    pub(crate) scrubbed: Scrubbed,
    /// Replaces, in the command's output, the secrets that the profile names.
    pub(crate) replacer: Option<Replacer>,
    /// The session's shell snapshot, if the command sources it.
    pub(crate) snapshot: Option<Vec<u8>>,
    pub(crate) session: Arc<OpenSession>,
    pub(crate) traceparent: String,
    pub(crate) handle: Arc<Handle>,
}

impl Job {
    /// Returns the reason why the job runs without the session's shell snapshot. Empty if the job has the snapshot or
    /// does not need it.
    pub(super) fn missed_snapshot(&self) -> String {
        let sources =
            !self.grant.read_only && !self.grant.unsandboxed && self.grant.command.shell == Shell::Bash;
        if sources && self.snapshot.is_none() { self.session.snapshot().problem } else { String::new() }
    }
}
