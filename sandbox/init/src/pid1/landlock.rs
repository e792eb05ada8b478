//! The second layer over what mounts and namespaces say: Landlock, applied by
//! pid 1 to itself and with that to everything it starts.
//!
//! Takes what the kernel has and says what that was. Must not widen anything: a
//! path that cannot be opened gets no right.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use airlock_init::wire::{Access, Landlock};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

/// The newest that was tried. What a later kernel could restrict beyond it stays
/// as it is.
const KNOWN: ABI = ABI::V7;

/// Restricts this process for good.
pub(super) fn restrict(access: &Access) -> Result<Landlock, RulesetError> {
    let status = apply(access)?;
    let abi = match (&status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => 0,
        (_, LandlockStatus::Available { effective_abi, .. }) => effective_abi as u32,
        _ => 0,
    };
    Ok(Landlock { abi, tcp_denied: abi >= ABI::V4 as u32 && !access.tcp })
}

fn apply(access: &Access) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        // The first ABI cannot allow a rename between folders, and forbids it
        // therefore: git and mv would break.
        .set_compatibility(CompatLevel::SoftRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if !access.tcp {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    rules
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules(paths(&access.folders), in_folders()))?
        .add_rules(path_beneath_rules(paths(&access.files), in_files()))?
        .restrict_self()
}

/// Everything but devices.
fn in_folders() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

/// Writing and controlling; nothing is made or removed.
fn in_files() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

fn paths(paths: &[Vec<u8>]) -> impl Iterator<Item = &Path> {
    paths.iter().map(|path| Path::new(OsStr::from_bytes(path)))
}
