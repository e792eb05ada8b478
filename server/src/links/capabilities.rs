//! The capabilities of a runner's host, from its hello.

use std::collections::BTreeMap;

use airlock_domain::{Capability, Epoch, RunnerHello, Shell};

/// The capability that states whether the runner's journal survived a restart of its host.
const JOURNAL_INTACT: &str = "journal_intact";
/// The capability without which a runner accepts no commands.
pub(crate) const FLOOR: &str = "floor";
/// The capability that states whether the runner's floor permits commands outside the sandbox.
pub(crate) const UNSANDBOXED: &str = "unsandboxed";

/// Reports whether a host's own root is known to lack a shell.
pub(crate) fn lacks(shells: &BTreeMap<String, String>, shell: Shell) -> bool {
    !shells.is_empty() && !shells.contains_key(shell.name())
}

/// Reports whether the runner's floor permits commands outside the sandbox.
pub(crate) fn permits_unsandboxed(hello: &RunnerHello) -> bool {
    hello.capabilities.iter().any(|found| found.name == UNSANDBOXED && found.enforced)
}

/// Reports whether a job that the runner does not report was never accepted by this epoch. This is
/// uncertain after the host went down, because the end of the journal can be missing.
pub(crate) fn vouches_for(hello: &RunnerHello, epoch: Epoch) -> bool {
    let is_broken = |found: &Capability| found.name == JOURNAL_INTACT && !found.enforced;
    hello.vouched_epochs.contains(&epoch) || !hello.capabilities.iter().any(is_broken)
}

/// Reports whether the runner can enforce its own floor. A runner that cannot refuses every session.
pub(crate) fn holds_floor(hello: &RunnerHello) -> bool {
    !hello.capabilities.iter().any(|found| found.name == FLOOR && !found.enforced)
}
