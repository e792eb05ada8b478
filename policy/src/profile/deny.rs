//! The keys of a profile for the built-in deny rules for PowerShell. Each is on unless a profile switches it off.

use serde::Deserialize;

use crate::tables::BuiltinDeny;

/// The built-in deny rules that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BuiltinDenyRules {
    download_and_execute: bool,
    irreversible_destruction: bool,
    persistence: bool,
    elevation: bool,
}

/// The table `policy.powershell`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    deny_download_and_execute: Option<bool>,
    deny_irreversible_destruction: Option<bool>,
    deny_persistence: Option<bool>,
    deny_elevation: Option<bool>,
}

impl Default for BuiltinDenyRules {
    fn default() -> Self {
        Self {
            download_and_execute: true,
            irreversible_destruction: true,
            persistence: true,
            elevation: true,
        }
    }
}

impl BuiltinDenyRules {
    /// Sets the given keys.
    pub(super) fn apply(&mut self, given: &Given) {
        let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
        set(&mut self.download_and_execute, given.deny_download_and_execute);
        set(&mut self.irreversible_destruction, given.deny_irreversible_destruction);
        set(&mut self.persistence, given.deny_persistence);
        set(&mut self.elevation, given.deny_elevation);
    }

    pub(super) fn applies(self, rule: BuiltinDeny) -> bool {
        match rule {
            BuiltinDeny::DownloadAndExecute => self.download_and_execute,
            BuiltinDeny::IrreversibleDestruction => self.irreversible_destruction,
            BuiltinDeny::Persistence => self.persistence,
            BuiltinDeny::Elevation => self.elevation,
        }
    }
}
