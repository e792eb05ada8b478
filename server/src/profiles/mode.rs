//! The modes in the policy's terms.

use airlock_domain::Mode;

/// Converts a mode of the contract to the policy's type.
#[must_use]
pub(crate) fn policy_mode(mode: Mode) -> airlock_policy::Mode {
    match mode {
        Mode::Bypass => airlock_policy::Mode::Bypass,
        Mode::AcceptEdits => airlock_policy::Mode::AcceptEdits,
        Mode::Default => airlock_policy::Mode::Default,
        Mode::Plan => airlock_policy::Mode::Plan,
    }
}
