//! A decision about a text of PowerShell.

use airlock_policy::{Decision, Profile, Request, Shell, decide};

pub(crate) fn decided(text: &str, profile: &Profile) -> Decision {
    decide(&Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) }, profile)
}
