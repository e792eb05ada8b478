//! Landlock: the second layer after mounts and namespaces. Pid 1 applies it to itself, and everything that it starts
//! inherits it.
//!
//! Uses the kernel's available version and reports it. Must not widen access: a path that cannot be opened gets no
//! right.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use airlock_init::wire::{Access, Landlock};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

/// The newest tested version. Restrictions of later versions are not used.
const KNOWN: ABI = ABI::V7;

/// Restricts this process irreversibly.
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
        // ABI 1 cannot allow a rename between directories, and therefore forbids it. This would break git and mv.
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
        .add_rules(path_beneath_rules(paths(&access.directories), in_directories()))?
        .add_rules(path_beneath_rules(paths(&access.files), in_files()))?
        .restrict_self()
}

/// All rights except those on devices.
fn in_directories() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

/// The rights to write and control a file, but not to create or remove it.
fn in_files() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

fn paths(paths: &[Vec<u8>]) -> impl Iterator<Item = &Path> {
    paths.iter().map(|path| Path::new(OsStr::from_bytes(path)))
}
